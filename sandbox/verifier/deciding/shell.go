package deciding

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// shells run a text line by line.
var shells = set("sh bash dash zsh ksh ash busybox mksh yash")

// shell reads one text for the shell.
type shell struct {
	r    *Reading
	self string   // the script; "" for a criterion
	dirs []string // where a line may be, from the top
	vars map[string][]*syntax.Word
	// functions are those that the text declares.
	functions     map[string]bool
	depth         int  // lines in lines
	runsArguments bool // it runs what it is given
	expanded      int  // parts of words that were expanded
}

// script reads a text for the shell: a criterion, a script, a recipe. It reports
// whether the text runs what it is given as arguments.
func (r *Reading) script(text, self string, h how, dirs []string) bool {
	s := &shell{r: r, self: self, dirs: dirs, vars: map[string][]*syntax.Word{}, functions: map[string]bool{}}
	if len(s.dirs) == 0 {
		s.dirs = []string{"."}
	}
	s.line(text, h)
	return s.runsArguments
}

// line reads a text, or a line within it. What is not to be understood may run
// everything that it names.
func (s *shell) line(text string, h how) {
	s.depth++
	defer func() { s.depth-- }()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil || s.depth > MaxLevel {
		for _, word := range words(text) {
			s.file(word, "", how{optional: true, level: h.level})
		}
		return
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil && n.Value != nil {
				s.vars[n.Name.Value] = append(s.vars[n.Name.Value], n.Value)
			}
			if n.Name != nil && n.Array != nil {
				for _, e := range n.Array.Elems {
					s.vars[n.Name.Value] = append(s.vars[n.Name.Value], e.Value)
				}
			}
		case *syntax.WordIter:
			s.vars[n.Name.Value] = append(s.vars[n.Name.Value], n.Items...)
		case *syntax.FuncDecl:
			s.functions[n.Name.Value] = true
		}
		return true
	})
	s.stmts(file.Stmts, h)
}

func (s *shell) stmts(list []*syntax.Stmt, h how) {
	for _, st := range list {
		s.stmt(st, h)
	}
}

// stmt reads a statement by what kind of command it is.
func (s *shell) stmt(st *syntax.Stmt, h how) {
	for _, r := range st.Redirs {
		s.substitutions(r.Word, h)
		out := r.Op == syntax.RdrOut || r.Op == syntax.AppOut || r.Op == syntax.RdrAll || r.Op == syntax.RdrClob
		if out && (r.N == nil || r.N.Value == "1") && r.Word.Lit() != "/dev/null" {
			h.consumed = true
		}
	}
	optional := h
	optional.optional = true
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		s.simple(c, st, h)
	case *syntax.DeclClause:
		for _, a := range c.Args {
			s.assign(a, h)
		}
	case *syntax.BinaryCmd:
		s.binary(c, h, optional)
	case *syntax.Block:
		s.stmts(c.Stmts, h)
	case *syntax.Subshell:
		s.stmts(c.Stmts, h)
	case *syntax.FuncDecl:
		s.stmt(c.Body, h)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			s.stmt(c.Stmt, h)
		}
	case *syntax.CoprocClause:
		s.stmt(c.Stmt, h)
	case *syntax.IfClause:
		s.ifClause(c, h, optional)
	case *syntax.WhileClause:
		s.whileClause(c, st.Redirs, h, optional)
	case *syntax.ForClause:
		s.forClause(c, h)
	case *syntax.CaseClause:
		s.substitutions(c.Word, h)
		for _, item := range c.Items {
			s.stmts(item.Stmts, optional)
		}
	case nil:
	default: // tests and arithmetic, which run only what is substituted in them
		syntax.Walk(c, func(n syntax.Node) bool {
			if w, ok := n.(*syntax.Word); ok {
				s.substitutions(w, h)
				return false
			}
			return true
		})
	}
}

// simple is a simple command: what it assigns, what is substituted in it, what it runs.
func (s *shell) simple(c *syntax.CallExpr, st *syntax.Stmt, h how) {
	for _, a := range c.Assigns {
		s.assign(a, h)
	}
	for _, w := range c.Args {
		s.substitutions(w, h)
		if s.readsProgram(st) {
			s.noteFed(w, h)
		}
	}
	s.call(s.values(c.Args), st.Redirs, h)
}

// ifClause is if, elif and else. A test whose branch ends the script well asks after a
// file that decides by being there.
func (s *shell) ifClause(c *syntax.IfClause, h, optional how) {
	for clause := c; clause != nil; clause = clause.Else {
		s.stmts(clause.Cond, h)
		if n := len(clause.Cond); n > 0 && isTest(clause.Cond[n-1]) && (succeeds(clause.Then) || clause.Else != nil && succeeds(clause.Else.Then)) {
			s.noteTested(clause.Cond[n-1], h)
		}
		s.stmts(clause.Then, optional)
	}
}

// whileClause is while and until: while read f; do sh "$f"; done < list.
func (s *shell) whileClause(c *syntax.WhileClause, redirects []*syntax.Redirect, h, optional how) {
	s.stmts(c.Cond, optional)
	if !s.opensAny(func() { s.stmts(c.Do, optional) }, h) {
		return
	}
	for _, r := range redirects {
		if r.Op == syntax.RdrIn && r.Word != nil {
			for _, v := range s.expand(r.Word, 0) {
				s.literalFile(v, h)
			}
		}
	}
}

// forClause is for: for f in $(cat list); do sh "$f"; done.
func (s *shell) forClause(c *syntax.ForClause, h how) {
	var items []*syntax.Word
	if words, ok := c.Loop.(*syntax.WordIter); ok {
		items = words.Items
	}
	for _, w := range items {
		s.substitutions(w, h)
	}
	if s.opensAny(func() { s.stmts(c.Do, h) }, h) {
		for _, w := range items {
			s.noteFed(w, h)
		}
	}
}

// binary is a && b, a || b, a | b: what is behind a test may not be there, and what
// is before a pipe is looked at.
func (s *shell) binary(c *syntax.BinaryCmd, h, optional how) {
	if (c.Op == syntax.AndStmt || c.Op == syntax.OrStmt) && isTest(c.X) && succeeds([]*syntax.Stmt{c.Y}) {
		s.noteTested(c.X, h)
	}
	switch c.Op {
	case syntax.AndStmt:
		s.stmt(c.X, h)
		if isTest(c.X) {
			h = optional
		}
		s.stmt(c.Y, h)
	case syntax.OrStmt:
		left := optional
		if fails(c.Y) || isTest(c.X) {
			left = h
		}
		s.stmt(c.X, left)
		s.stmt(c.Y, optional)
	default:
		left := h
		left.consumed = true
		s.stmt(c.X, left)
		if s.readsProgram(c.Y) {
			s.noteFed(c.X, h)
		}
		if s.opensAny(func() { s.stmt(c.Y, h) }, h) {
			s.noteFed(c.X, h)
		}
	}
}

// opensAny reads what may run files that no text names; it reports whether it does.
func (s *shell) opensAny(read func(), h how) bool {
	was := s.r.openEnded
	s.r.openEnded = false
	read()
	opened := s.r.openEnded && !h.consumed
	s.r.openEnded = s.r.openEnded || was
	return opened
}

// substitutions reads what is substituted in a word.
func (s *shell) substitutions(w *syntax.Word, h how) {
	if w == nil {
		return
	}
	h.consumed = true
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			s.stmts(n.Stmts, h)
			return false
		case *syntax.ProcSubst:
			s.stmts(n.Stmts, h)
			return false
		}
		return true
	})
}

func (s *shell) values(words []*syntax.Word) [][]string {
	var all [][]string
	for _, w := range words {
		all = append(all, s.expand(w, 0))
	}
	return all
}

// file notes that a word names a file that is run, and reads it where main has it.
// It reports whether there is such a file, and whether it runs its arguments.
func (s *shell) file(word, language string, h how) (found, runsArgs bool) {
	if word == "" || path.IsAbs(word) {
		return false, false
	}
	if strings.ContainsAny(word, unclear+"*?[") {
		s.r.pattern(word, h)
		return true, false
	}
	for _, dir := range s.dirs {
		p := path.Join(dir, word)
		if !s.r.exists(p) {
			continue
		}
		found = true
		if s.r.noteRun(p, h) && s.r.follow(p, language, h.level+1, s.dirs) {
			runsArgs = true
		}
	}
	return found, runsArgs
}
