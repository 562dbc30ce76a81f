package house

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"testing"
)

// TestStartsDoNoWork: no package compiles an expression or a page when its program starts,
// whether it is used or not; a hook starts at each push. Expressions are internal/pattern's,
// and all of them compile.
func TestStartsDoNoWork(t *testing.T) {
	patterns := 0
	shipped(t, "internal/pattern", func(_ string, set *token.FileSet, file *ast.File) {
		for _, d := range file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			ast.Inspect(g, func(n ast.Node) bool {
				if _, later := n.(*ast.FuncLit); later {
					return false
				}
				if c, ok := n.(*ast.CallExpr); ok && (calls(c, "regexp", "MustCompile") || calls(c, "template", "Must")) {
					t.Errorf("%s: it is compiled at each start: internal/pattern, or sync.OnceValue, does it at the first use", set.Position(c.Pos()))
				}
				return true
			})
		}
		ast.Inspect(file, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok || !calls(c, "pattern", "New") {
				return true
			}
			text, ok := constant(c.Args[0])
			if !ok {
				return true
			}
			patterns++
			if _, err := regexp.Compile(text); err != nil {
				t.Errorf("%s: %v", set.Position(c.Pos()), err)
			}
			return true
		})
	})
	if patterns < 50 {
		t.Errorf("only %d patterns were looked at", patterns)
	}
}

// calls reports whether a call is of a package's function.
func calls(c *ast.CallExpr, of, name string) bool {
	s, ok := c.Fun.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	p, ok := s.X.(*ast.Ident)
	return ok && p.Name == of
}

// constant is a text that is written out, in one piece or several.
func constant(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, lok := constant(e.X)
		right, rok := constant(e.Y)
		return left + right, lok && rok
	}
	return "", false
}
