package broken

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"

	"git-ward/internal/pattern"
)

// goEqual is the name of a function that says whether two things are equal, and goCompare of one
// that says how they differ: which call is asked, and no more, is decided by it.
var (
	goEqual   = pattern.New(`(?i)equal|same|^(?:eq|is)$`)
	goCompare = pattern.New(`(?i)compare|cmp|diff`)
	goNumber  = pattern.New(`^(?:0|[1-9][0-9_]*)(?:\.[0-9]+)?$`)
)

// goComparisons are the operators and calls that compare with a value.
func goComparisons(text string) (list []Comparison) {
	files, file, tests := goFile(text)
	if file == nil {
		return nil
	}
	at := func(pos token.Pos) int { return files.PositionFor(pos, false).Offset }
	add := func(all ast.Expr, value *ast.BasicLit, equal bool) {
		if value == nil {
			return
		}
		list = append(list, Comparison{unlike: edit{from: at(value.Pos()), to: at(value.End())}, whether: func(is bool) []edit {
			to := " && false)"
			if is == equal {
				to = " || true)"
			}
			return []edit{{at(all.Pos()), at(all.Pos()), "("}, {at(all.End()), at(all.End()), to}}
		}})
	}
	for _, f := range tests {
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op != token.EQL && n.Op != token.NEQ {
					break
				}
				for _, side := range []ast.Expr{n.X, n.Y} {
					add(n, goLiteral(side), n.Op == token.EQL)
					if call, ok := side.(*ast.CallExpr); ok && goCompare.MatchString(goCallee(call)) {
						add(n, goLast(file, call), n.Op == token.EQL)
					}
				}
			case *ast.CallExpr:
				if goEqual.MatchString(goCallee(n)) {
					add(n, goLast(file, n), true)
				}
			}
			return true
		})
	}
	return list
}

// goLiteral is an expression that is a value, which can be another one; nil else.
func goLiteral(x ast.Expr) *ast.BasicLit {
	if v, ok := x.(*ast.BasicLit); ok && (v.Value[0] == '"' || v.Value[0] == '\'' || goNumber.MatchString(v.Value)) {
		return v
	}
	return nil
}

// goLast is the value that a function of two compares with, or a method of one; nil for another
// call, which may have a tolerance or something else there.
func goLast(file *ast.File, call *ast.CallExpr) *ast.BasicLit {
	args := 2
	if method, ok := call.Fun.(*ast.SelectorExpr); ok {
		of, isName := method.X.(*ast.Ident)
		if !isName || !slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return goImported(i) == of.Name }) {
			args = 1
		}
	}
	if len(call.Args) != args {
		return nil
	}
	return goLiteral(call.Args[args-1])
}

// goImported is the name that an import most likely has.
func goImported(i *ast.ImportSpec) string {
	if i.Name != nil {
		return i.Name.Name
	}
	return strings.Trim(path.Base(i.Path.Value), `"`)
}

// goCallee is the last part of what a call calls.
func goCallee(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}
