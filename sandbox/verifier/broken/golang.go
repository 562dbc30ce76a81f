package broken

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"

	"git-ward/internal/pattern"
)

// goTests are the tests of a file of Go, as go test finds them; file is nil for what is no
// Go.
func goTests(text string) (files *token.FileSet, file *ast.File, tests []*ast.FuncDecl) {
	files = token.NewFileSet()
	file, err := parser.ParseFile(files, "", text, parser.SkipObjectResolution)
	if err != nil {
		return files, nil, nil
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || f.Body == nil {
			continue
		}
		body := text[files.PositionFor(f.Body.Lbrace, false).Offset:files.PositionFor(f.Body.Rbrace, false).Offset]
		if kind := goKind(f); kind == example && goOutput.MatchString(body) || kind != "" && kind != example {
			tests = append(tests, f)
		}
	}
	return files, file, tests
}

// goKinds are the types that tests take, by how their names begin.
var goKinds = map[string]string{"Test": "T", "Benchmark": "B", "Fuzz": "F"}

// example is how an example's name begins, which takes nothing, and runs if it says what it
// prints.
const example = "Example"

var goOutput = pattern.New(`(?i)//[ \t]*(?:unordered )?output:`)

// goKind is how a test's name begins, "" for another function. TestMain takes a type of
// its own.
func goKind(f *ast.FuncDecl) string {
	if strings.HasPrefix(f.Name.Name, example) && len(f.Type.Params.List) == 0 {
		return example
	}
	for kind, takes := range goKinds {
		if !strings.HasPrefix(f.Name.Name, kind) || len(f.Type.Params.List) != 1 {
			continue
		}
		if star, ok := f.Type.Params.List[0].Type.(*ast.StarExpr); ok {
			switch x := star.X.(type) {
			case *ast.SelectorExpr:
				if x.Sel.Name == takes {
					return kind
				}
			case *ast.Ident: // import . "testing"
				if x.Name == takes {
					return kind
				}
			}
		}
	}
	return ""
}

// goAtEnd defers the test's failure before all else that it does: it comes last, however the
// test returns, and it comes as any failure does. A test that was skipped has not come to its
// end, and the end of the process runs no deferred call.
func goAtEnd(text string) string {
	return goFirst(text, func(f *ast.FuncDecl) string {
		if goKind(f) != example {
			if named := f.Type.Params.List[0].Names; len(named) == 1 && named[0].Name != "_" {
				return fmt.Sprintf("defer func() { if !%[1]s.Skipped() { %[1]s.Fail() } }()", named[0].Name)
			}
		}
		return `defer panic("a control")`
	})
}

func goBegun(text, word string) string {
	return goFirst(text, func(*ast.FuncDecl) string { return fmt.Sprintf("panic(%q)", word) })
}

// goFirst has tests begin with a statement.
func goFirst(text string, statement func(*ast.FuncDecl) string) string {
	files, _, tests := goTests(text)
	into := map[token.Pos]string{}
	for _, f := range tests {
		into[f.Body.Lbrace] = statement(f)
	}
	return goInsert(files, text, into)
}

// goInsert puts statements behind braces, "" for no brace.
func goInsert(files *token.FileSet, text string, into map[token.Pos]string) string {
	if len(into) == 0 {
		return ""
	}
	var b strings.Builder
	from := 0
	for _, brace := range slices.Sorted(maps.Keys(into)) {
		at := files.PositionFor(brace, false).Offset + 1
		b.WriteString(text[from:at] + "\n\t" + into[brace] + "\n")
		from = at
	}
	return b.String() + text[from:]
}

// goHollow has each function return at once, with zeros: those that begin a program or a
// package, and those that a variable is made with, too.
func goHollow(text string) string {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", text, parser.SkipObjectResolution)
	if err != nil {
		return ""
	}
	into := map[token.Pos]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch f := n.(type) {
		case *ast.FuncDecl:
			if f.Body != nil {
				into[f.Body.Lbrace] = goZeros(files, text, f.Type.Results)
			}
			return false
		case *ast.FuncLit:
			into[f.Body.Lbrace] = goZeros(files, text, f.Type.Results)
			return false
		}
		return true
	})
	return goInsert(files, text, into)
}

// goZeros returns the zeros of results; named ones have them.
func goZeros(files *token.FileSet, text string, results *ast.FieldList) string {
	var zeros []string
	if results == nil || len(results.List) > 0 && results.List[0].Names != nil {
		return "return"
	}
	for _, r := range results.List {
		zeros = append(zeros, "*new("+text[files.PositionFor(r.Type.Pos(), false).Offset:files.PositionFor(r.Type.End(), false).Offset]+")")
	}
	return "return " + strings.Join(zeros, ", ")
}

// goOnly keeps the head of a file too, which says for what it is built. Of a file without
// tests it leaves the package: what is in it may need code that is not there.
func goOnly(text string, fail bool) string {
	files, file, tests := goTests(text)
	if file == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(text[:files.PositionFor(file.Name.End(), false).Offset] + "\n")
	if len(tests) > 0 {
		b.WriteString("\nimport \"testing\"\n\nvar _ *testing.T\n")
	}
	for _, f := range tests {
		kind, does := goKind(f), ""
		if kind == example {
			if fail {
				does = `panic("a control")`
			}
			// Of another name: go vet, which go test runs, looks for what an example names.
			fmt.Fprintf(&b, "\nfunc Example_of%s() {\n\t%s\n\t// Output:\n}\n", strings.TrimPrefix(f.Name.Name, example), does)
			continue
		}
		switch {
		case fail:
			does = "t.Fail()"
		case kind == "Fuzz":
			does = "t.Skip()" // which a fuzz test must do that does nothing
		}
		fmt.Fprintf(&b, "\nfunc %s(t *testing.%s) { %s }\n", f.Name.Name, goKinds[kind], does)
	}
	return b.String()
}
