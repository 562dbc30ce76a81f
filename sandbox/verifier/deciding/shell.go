package deciding

import (
	"path"
	"slices"
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
	own  map[string]bool // functions
	deep int             // lines in lines
	args bool            // it runs what it is given
	done int             // parts of words that were expanded
}

// script reads a text for the shell: a criterion, a script, a recipe. It reports
// whether the text runs what it is given as arguments.
func (r *Reading) script(text, self string, h how, dirs []string) bool {
	s := &shell{r: r, self: self, dirs: dirs, vars: map[string][]*syntax.Word{}, own: map[string]bool{}}
	if len(s.dirs) == 0 {
		s.dirs = []string{"."}
	}
	s.line(text, h)
	return s.args
}

// line reads a text, or a line within it. What is not to be understood may run
// everything that it names.
func (s *shell) line(text string, h how) {
	s.deep++
	defer func() { s.deep-- }()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil || s.deep > MaxLevel {
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
			s.own[n.Name.Value] = true
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

func (s *shell) stmt(st *syntax.Stmt, h how) {
	for _, r := range st.Redirs {
		s.inside(r.Word, h)
		out := r.Op == syntax.RdrOut || r.Op == syntax.AppOut || r.Op == syntax.RdrAll || r.Op == syntax.RdrClob
		if out && (r.N == nil || r.N.Value == "1") && r.Word.Lit() != "/dev/null" {
			h.consumed = true
		}
	}
	optional := h
	optional.optional = true
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		for _, a := range c.Assigns {
			s.assign(a, h)
		}
		for _, w := range c.Args {
			s.inside(w, h)
			if s.readsProgram(st) {
				s.feeds(w, h)
			}
		}
		s.call(s.values(c.Args), st.Redirs, h)
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
		for clause := c; clause != nil; clause = clause.Else {
			s.stmts(clause.Cond, h)
			if len(clause.Cond) > 0 && isTest(clause.Cond[len(clause.Cond)-1]) && (succeeds(clause.Then) || clause.Else != nil && succeeds(clause.Else.Then)) {
				s.flagged(clause.Cond[len(clause.Cond)-1], h)
			}
			s.stmts(clause.Then, optional)
		}
	case *syntax.WhileClause:
		s.stmts(c.Cond, optional)
		if s.opens(func() { s.stmts(c.Do, optional) }, h) { // while read f; do sh "$f"; done < list
			for _, r := range st.Redirs {
				if r.Op == syntax.RdrIn && r.Word != nil {
					for _, v := range s.expand(r.Word, 0) {
						s.known(v, h)
					}
				}
			}
		}
	case *syntax.ForClause:
		words, ok := c.Loop.(*syntax.WordIter)
		if ok {
			for _, w := range words.Items {
				s.inside(w, h)
			}
		}
		if s.opens(func() { s.stmts(c.Do, h) }, h) && ok { // for f in $(cat list); do sh "$f"; done
			for _, w := range words.Items {
				s.feeds(w, h)
			}
		}
	case *syntax.CaseClause:
		s.inside(c.Word, h)
		for _, item := range c.Items {
			s.stmts(item.Stmts, optional)
		}
	case nil:
	default: // tests and arithmetic, which run only what is substituted in them
		syntax.Walk(c, func(n syntax.Node) bool {
			if w, ok := n.(*syntax.Word); ok {
				s.inside(w, h)
				return false
			}
			return true
		})
	}
}

// binary is a && b, a || b, a | b: what is behind a test may not be there, and what
// is before a pipe is looked at.
func (s *shell) binary(c *syntax.BinaryCmd, h, optional how) {
	if (c.Op == syntax.AndStmt || c.Op == syntax.OrStmt) && isTest(c.X) && succeeds([]*syntax.Stmt{c.Y}) {
		s.flagged(c.X, h)
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
			s.feeds(c.X, h)
		}
		if s.opens(func() { s.stmt(c.Y, h) }, h) {
			s.feeds(c.X, h)
		}
	}
}

// opens reads what may run files that no text names; it reports whether it does.
func (s *shell) opens(read func(), h how) bool {
	was := s.r.open
	s.r.open = false
	read()
	opened := s.r.open && !h.consumed
	s.r.open = s.r.open || was
	return opened
}

// flagged notes the files after which a test asks that ends a script well: one that is
// there, or gone, decides.
func (s *shell) flagged(test *syntax.Stmt, h how) {
	if s.self == "" { // a criterion asks after the work
		return
	}
	h.optional, h.consumed = true, false
	syntax.Walk(test, func(n syntax.Node) bool {
		w, ok := n.(*syntax.Word)
		if !ok {
			return true
		}
		for _, v := range s.expand(w, 0) {
			for _, dir := range s.dirs {
				if p := path.Join(dir, v); v != "" && !path.IsAbs(v) && !strings.ContainsAny(v, unclear) && s.r.there(p) {
					s.r.ref(p, h)
				}
			}
		}
		return false
	})
}

// succeeds reports whether commands end the script well.
func succeeds(list []*syntax.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	last := list[len(list)-1]
	switch c := last.Cmd.(type) {
	case *syntax.Block:
		return succeeds(c.Stmts)
	case *syntax.CallExpr:
		name := firstWord(last)
		return (name == "exit" || name == "return") && (len(c.Args) < 2 || c.Args[1].Lit() == "0")
	}
	return false
}

// readsProgram reports whether a command runs what another one prints: cat check | sh,
// eval "$(cat check)".
func (s *shell) readsProgram(st *syntax.Stmt) bool {
	c, ok := st.Cmd.(*syntax.CallExpr)
	if !ok {
		return false
	}
	for _, w := range c.Args {
		name := path.Base(w.Lit())
		if shells[name] || pythons[name] || scripts[name] || name == "eval" || name == "." || name == "source" || makes[name] {
			return true
		}
		if !slices.Contains(wrappers, name) && !own(w.Lit()) {
			return false
		}
	}
	return false
}

// feeds notes every file that commands name whose output is run.
func (s *shell) feeds(within syntax.Node, h how) {
	h.consumed = false
	_, isWord := within.(*syntax.Word)
	syntax.Walk(within, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			isWord = false
		case *syntax.CallExpr:
			for _, v := range flat(s.values(n.Args)) {
				if !isWord && v != "" {
					s.known(v, h)
					if _, p, ok := strings.Cut(v, ":"); ok { // git show HEAD:check
						s.known(p, h)
					}
				}
			}
		case *syntax.Redirect:
			if n.Op == syntax.RdrIn && n.Word != nil {
				for _, v := range s.expand(n.Word, 0) {
					s.known(v, h)
				}
			}
		}
		return true
	})
}

func firstWord(st *syntax.Stmt) string {
	if c, ok := st.Cmd.(*syntax.CallExpr); ok && len(c.Args) > 0 {
		return c.Args[0].Lit()
	}
	return ""
}

// isTest reports whether a command only asks.
func isTest(st *syntax.Stmt) bool {
	switch c := st.Cmd.(type) {
	case *syntax.TestClause:
		return true
	case *syntax.BinaryCmd:
		return isTest(c.X) && isTest(c.Y)
	}
	return slices.Contains([]string{"test", "[", "command", "type", "which", "hash"}, firstWord(st))
}

// fails reports whether a command does nothing but end badly.
func fails(st *syntax.Stmt) bool {
	switch c := st.Cmd.(type) {
	case *syntax.Block:
		return len(c.Stmts) > 0 && fails(c.Stmts[len(c.Stmts)-1])
	case *syntax.CallExpr:
		name := firstWord(st)
		return name == "false" || (name == "exit" || name == "return") && (len(c.Args) < 2 || c.Args[1].Lit() != "0")
	}
	return false
}

// inside reads what is substituted in a word.
func (s *shell) inside(w *syntax.Word, h how) {
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

// The variables by which programs are told where to look, and what to load.
var (
	searchVars = set("PATH PYTHONPATH NODE_PATH PERL5LIB PERLLIB RUBYLIB LUA_PATH CDPATH LD_LIBRARY_PATH CLASSPATH GOPATH GOROOT PYTHONHOME")
	loadVars   = set(`PYTHONSTARTUP NODE_OPTIONS PERL5OPT RUBYOPT BASH_ENV ENV MAKEFILES MAKEFLAGS GOWORK GOFLAGS GOENV JAVA_TOOL_OPTIONS LD_PRELOAD RUSTC_WRAPPER
		RUSTC CC CXX LD AR SHELL MAKE PYTHON PYTEST_PLUGINS PYTEST_ADDOPTS CARGO_HOME GIT_CONFIG_GLOBAL GIT_SSH_COMMAND`)
)

func (s *shell) assign(a *syntax.Assign, h how) {
	if a.Name == nil || a.Value == nil {
		return
	}
	s.inside(a.Value, h)
	for _, v := range s.expand(a.Value, 0) {
		s.setting(a.Name.Value, v, h)
	}
}

// setting is NAME=VALUE.
func (s *shell) setting(name, value string, h how) {
	switch {
	case searchVars[name]:
		for _, dir := range strings.Split(value, ":") {
			if strings.ContainsAny(dir, unclear) || path.IsAbs(dir) {
				continue
			}
			for _, at := range s.dirs {
				switch d := path.Join(at, dir); {
				case name == "PATH":
					s.r.paths[d] = true
				case name == "PYTHONPATH":
					s.r.modules[d] = true
				case d != ".":
					s.r.dirs[d] = true
				}
			}
		}
	case loadVars[name]:
		for _, word := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" :,=", r) }) {
			s.file(word, "", how{optional: true, level: h.level})
		}
	}
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
		if !s.r.there(p) {
			continue
		}
		found = true
		if s.r.ref(p, h) && s.r.follow(p, language, h.level+1, s.dirs) {
			runsArgs = true
		}
	}
	return found, runsArgs
}
