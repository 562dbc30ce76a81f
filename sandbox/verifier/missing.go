package verifier

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"git-ward/internal/diag"
)

// Missing words what a line that ended with 127, a command that was not found, was
// most likely missing: the command of the line that its last output names.
func Missing(line, tail string) string {
	missing := "a command"
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err == nil {
		syntax.Walk(file, func(n syntax.Node) bool {
			if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 {
				if name := c.Args[0].Lit(); name != "" && strings.Contains(tail, name+":") {
					missing = diag.Clean(name)
				}
			}
			return true
		})
	}
	return missing + " was not found where the commands run"
}
