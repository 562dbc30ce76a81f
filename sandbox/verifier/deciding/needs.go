package deciding

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"git-ward/internal/pattern"
)

// RunsModule stands between a Python and its module in a name of Tools.
const RunsModule = " -m "

// Tools are the programs that a line for the shell wants of the system: "make", or
// "python3 -m pytest" where an interpreter is given a module. true is for one without
// which the line does not go well, false for one that runs on a condition. Files of the tree,
// functions, and what only the shell knows when it runs are none; a line that puts
// something of its own on PATH, or that is not to be understood, has none at all.
func Tools(line string) map[string]bool {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil
	}
	w := &wants{tools: map[string]bool{}, own: map[string]bool{}}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			w.blind = w.blind || n.Name != nil && n.Name.Value == "PATH"
		case *syntax.FuncDecl:
			w.own[n.Name.Value] = true
		}
		return true
	})
	w.list(file.Stmts, true)
	if w.blind {
		return nil
	}
	return w.tools
}

// wants collects the programs of a line.
type wants struct {
	tools map[string]bool
	own   map[string]bool // functions
	blind bool
}

// list reads statements, of which each runs when the list does and nothing before it ends
// it.
func (w *wants) list(stmts []*syntax.Stmt, always bool) {
	for _, st := range stmts {
		w.stmt(st, always)
		always = always && !leaves(st)
	}
}

func (w *wants) stmt(st *syntax.Stmt, always bool) {
	if st == nil {
		return
	}
	for _, r := range st.Redirs {
		w.word(r.Word, always)
	}
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		w.call(c, always)
	case *syntax.BinaryCmd:
		w.binary(c, always)
	case *syntax.Block:
		w.list(c.Stmts, always)
	case *syntax.Subshell:
		w.list(c.Stmts, always)
	case *syntax.TimeClause:
		w.stmt(c.Stmt, always)
	case nil, *syntax.FuncDecl:
	default: // conditions, loops, tests: what is in them runs as it comes
		syntax.Walk(c, func(n syntax.Node) bool {
			if call, ok := n.(*syntax.CallExpr); ok {
				w.call(call, false)
			}
			return true
		})
	}
}

// binary is a | b and a && b, which want both, unless a only asks whether b is wanted, and
// a || b.
func (w *wants) binary(c *syntax.BinaryCmd, always bool) {
	switch c.Op {
	case syntax.AndStmt:
		w.stmt(c.X, always)
		w.stmt(c.Y, always && !isTest(c.X))
	case syntax.OrStmt: // what is tried first may be what is asked after
		w.stmt(c.X, false)
		w.stmt(c.Y, false)
	default:
		w.stmt(c.X, always)
		w.stmt(c.Y, always)
	}
}

// call is one simple command, and what is substituted in its words.
func (w *wants) call(c *syntax.CallExpr, always bool) {
	for _, a := range c.Assigns {
		w.word(a.Value, always)
	}
	for _, word := range c.Args {
		w.word(word, always)
	}
	args := plainWords(c.Args)
	for len(args) > 0 && slices.Contains(wrappers, args[0]) {
		if name := args[0]; name == "command" && len(args) > 1 && strings.HasPrefix(args[1], "-") {
			return // command -v asks after it
		} else {
			w.add(name, always)
		}
		args = args[1:]
		for flag := false; len(args) > 0 && (isWrapperArgument(args[0]) || flag && !known(args[0])); args = args[1:] {
			flag = strings.HasPrefix(args[0], "-")
		}
	}
	if len(args) == 0 {
		return
	}
	w.add(args[0], always)
	if i := slices.Index(args, "-m"); pythons[args[0]] && i == 1 && len(args) > 2 && moduleName.MatchString(args[2]) {
		w.add(args[0]+RunsModule+args[2], always)
	}
}

func (w *wants) word(word *syntax.Word, always bool) {
	if word == nil {
		return
	}
	syntax.Walk(word, func(n syntax.Node) bool {
		if sub, ok := n.(*syntax.CmdSubst); ok {
			w.list(sub.Stmts, always)
			return false
		}
		return true
	})
}

var (
	toolName   = pattern.New(`^[A-Za-z0-9_][A-Za-z0-9_.+-]*( -m [A-Za-z0-9_.]+)?$`)
	absolute   = pattern.New(`^(/[A-Za-z0-9_.+-]+)+$`)
	moduleName = pattern.New(`^[A-Za-z_][A-Za-z0-9_.]*$`)
)

func (w *wants) add(name string, always bool) {
	if !w.own[name] && (toolName.MatchString(name) || absolute.MatchString(name)) {
		w.tools[name] = w.tools[name] || always
	}
}

// plainWords are a command's words up to the first that only the shell can tell.
func plainWords(words []*syntax.Word) (plain []string) {
	for _, w := range words {
		var b strings.Builder
		for _, part := range w.Parts {
			switch p := part.(type) {
			case *syntax.Lit:
				b.WriteString(p.Value)
			case *syntax.SglQuoted:
				b.WriteString(p.Value)
			case *syntax.DblQuoted:
				for _, inner := range p.Parts {
					lit, ok := inner.(*syntax.Lit)
					if !ok {
						return plain
					}
					b.WriteString(lit.Value)
				}
			default:
				return plain
			}
		}
		plain = append(plain, b.String())
	}
	return plain
}

// known reports whether a word is a command that this package knows by its name.
func known(word string) bool {
	return shells[word] || pythons[word] || scripts[word] || makes[word] || npms[word] || testers[word] || slices.Contains(wrappers, word)
}

// leaves reports whether a line may be over, and well, after a statement.
func leaves(st *syntax.Stmt) bool {
	leaves := false
	syntax.Walk(st, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok {
			words := plainWords(c.Args)
			leaves = leaves || len(words) > 0 && (words[0] == "exit" || words[0] == "exec" || words[0] == "return")
		}
		return true
	})
	return leaves
}
