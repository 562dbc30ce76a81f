package broken

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"

	"git-ward/internal/pattern"
)

// goEqual matches the names of functions that report equality, and goCompare of those that report
// a difference. They only choose which calls a control changes; the run decides the result.
var (
	goEqual   = pattern.New(`(?i)equal|same|^(?:eq|is)$`)
	goCompare = pattern.New(`(?i)compare|cmp|diff`)
	goNumber  = pattern.New(`^(?:0|[1-9][0-9_]*)(?:\.[0-9]+)?$`)
)

// goComparisons finds the operators and calls that compare with a value.
func goComparisons(text string) (list []Comparison) {
	files, file, tests := goFile(text)
	if file == nil {
		return nil
	}
	at := func(pos token.Pos) int { return files.PositionFor(pos, false).Offset }
	whether := func(all ast.Expr, equal bool) func(bool) []edit {
		return func(is bool) []edit {
			to := " && false)"
			if is == equal {
				to = " || true)"
			}
			return []edit{{at(all.Pos()), at(all.Pos()), "("}, {at(all.End()), at(all.End()), to}}
		}
	}
	add := func(all ast.Expr, value *ast.BasicLit, equal bool) {
		if value != nil {
			list = append(list, Comparison{unlike: edit{from: at(value.Pos()), to: at(value.End())}, whether: whether(all, equal)})
		}
	}
	for _, f := range tests {
		parameter := ""
		if goKind(f) != example {
			parameter, _ = goParameter(f, at)
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IfStmt:
				for _, call := range goAsked(n.Cond) {
					if !goEqual.MatchString(goCallee(call)) || len(call.Args) > 2 {
						list = append(list, goCalled(text, at, call, 0)...)
					}
				}
			case *ast.ExprStmt:
				if call, ok := n.X.(*ast.CallExpr); ok && len(call.Args) > 0 && parameter != "" {
					if of, ok := call.Args[0].(*ast.Ident); ok && of.Name == parameter {
						list = append(list, goCalled(text, at, call, 1)...)
					}
				}
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
				if !goEqual.MatchString(goCallee(n)) {
					break
				}
				add(n, goLast(file, n), true)
				if of := goComputed(file, n); of != nil {
					from, to := at(of.Pos()), at(of.End())
					list = append(list, Comparison{stands: text[from:to], whether: whether(n, true),
						unlike: edit{from, to, goOtherOf(text) + "(" + text[from:to] + ")"}})
				}
			}
			return true
		})
	}
	return list
}

// goAsked lists the calls whose truth a condition asks for.
func goAsked(x ast.Expr) []*ast.CallExpr {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return goAsked(x.X)
	case *ast.UnaryExpr:
		return goAsked(x.X)
	case *ast.BinaryExpr:
		if x.Op == token.LAND || x.Op == token.LOR {
			return append(goAsked(x.X), goAsked(x.Y)...)
		}
	case *ast.CallExpr:
		return []*ast.CallExpr{x}
	}
	return nil
}

// goCalled finds the comparisons of a call of any name whose arguments, after the first so many, are a
// result, a value and perhaps more values, such as a tolerance. As a statement it fails its test;
// elsewhere its truth is asked for.
func goCalled(text string, at func(token.Pos) int, call *ast.CallExpr, first int) []Comparison {
	if _, named := call.Fun.(*ast.Ident); !named {
		if of, ok := call.Fun.(*ast.SelectorExpr); !ok {
			return nil
		} else if _, named := of.X.(*ast.Ident); !named {
			return nil
		}
	}
	if len(call.Args) < first+2 || goLiteral(call.Args[first]) != nil {
		return nil
	}
	for _, arg := range call.Args[first+1:] {
		if goLiteral(arg) == nil {
			return nil
		}
	}
	value, from, to := call.Args[first+1], at(call.Pos()), at(call.End())
	c := Comparison{truth: true, unlike: edit{from: at(value.Pos()), to: at(value.End())}}
	begins, ends := text[from:at(call.Args[first].Pos())], text[at(value.Pos()):to]
	c.only = func(tested string) edit {
		if first > 0 {
			return edit{text: begins + tested + ", " + ends}
		}
		return edit{text: "if !(" + begins + tested + ", " + ends + ") {\npanic(0)\n}"}
	}
	c.whether = func(is bool) []edit {
		switch {
		case first == 0 && is:
			return []edit{{from, from, "("}, {to, to, " || true)"}}
		case first == 0:
			return []edit{{from, from, "("}, {to, to, " && false)"}}
		case is:
			return nil
		}
		return []edit{{from, from, "panic(0)\n"}}
	}
	return []Comparison{c}
}

// goBody returns where a test's first statement begins.
func goBody(_ string, from int) (at int, before, after string) {
	return from + 1, "\n", "\nreturn\n"
}

// goLiteral returns an expression that is a literal which can be changed; nil for another.
func goLiteral(x ast.Expr) *ast.BasicLit {
	if v, ok := x.(*ast.BasicLit); ok && (v.Value[0] == '"' || v.Value[0] == '\'' || goNumber.MatchString(v.Value)) {
		return v
	}
	return nil
}

// goLast returns the value that a function of two arguments, or a method of one, compares with. It
// returns nil for another call, whose last argument may be a tolerance.
func goLast(file *ast.File, call *ast.CallExpr) *ast.BasicLit {
	args := goArgs(file, call)
	if len(call.Args) != args {
		return nil
	}
	return goLiteral(call.Args[args-1])
}

// goArgs returns how many arguments a call needs in order to compare two things.
func goArgs(file *ast.File, call *ast.CallExpr) int {
	if method, ok := call.Fun.(*ast.SelectorExpr); ok {
		of, isName := method.X.(*ast.Ident)
		if !isName || !slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return goImported(i) == of.Name }) {
			return 1
		}
	}
	return 2
}

// goImported returns the name that an import most likely has.
func goImported(i *ast.ImportSpec) string {
	if i.Name != nil {
		return i.Name.Name
	}
	return strings.Trim(path.Base(i.Path.Value), `"`)
}

// goCallee returns the last part of a called function's name.
func goCallee(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}
