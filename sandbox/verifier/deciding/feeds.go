package deciding

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

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
		if !slices.Contains(wrappers, name) && !isWrapperArgument(w.Lit()) {
			return false
		}
	}
	return false
}

// noteFed notes every file that commands name whose output is run.
func (s *shell) noteFed(within syntax.Node, h how) {
	h.consumed = false
	_, isWord := within.(*syntax.Word)
	syntax.Walk(within, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			isWord = false
		case *syntax.CallExpr:
			for _, v := range flat(s.values(n.Args)) {
				if !isWord && v != "" {
					s.literalFile(v, h)
					if _, p, ok := strings.Cut(v, ":"); ok { // git show HEAD:check
						s.literalFile(p, h)
					}
				}
			}
		case *syntax.Redirect:
			if n.Op == syntax.RdrIn && n.Word != nil {
				for _, v := range s.expand(n.Word, 0) {
					s.literalFile(v, h)
				}
			}
		}
		return true
	})
}
