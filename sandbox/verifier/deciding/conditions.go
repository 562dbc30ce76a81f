package deciding

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// noteTested notes the files after which a test asks that ends a script well: one that is
// there, or gone, decides.
func (s *shell) noteTested(test *syntax.Stmt, h how) {
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
				if p := path.Join(dir, v); v != "" && !path.IsAbs(v) && !strings.ContainsAny(v, unclear) && s.r.exists(p) {
					s.r.noteRun(p, h)
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
