package broken

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"

	"git-ward/internal/pattern"
)

// goFile parses a file and finds its tests as go test does. file is nil if the text is not Go.
func goFile(text string) (files *token.FileSet, file *ast.File, tests []*ast.FuncDecl) {
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

// example is how an example's name begins. An example takes no argument, and runs if it declares its
// output.
const example = "Example"

var goOutput = pattern.New(`(?i)//[ \t]*(?:unordered )?output:`)

// goKind returns how a test's name begins, "" for a function that is not a test. TestMain is not one:
// its parameter has a type of its own.
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

// What a test with a parameter, and an example without one, defers in order to report and to fail. A
// test that was skipped has not come to its end, and the end of the process runs no deferred call.
const (
	goEnd = `defer func() {
	wardR, wardSays := recover(), %[2]q
	if wardR != nil || %[1]s.Failed() {
		wardSays = %[3]q
	}
	if wardR != nil || %[1]s.Failed() || !%[1]s.Skipped() {
		%[4]s
		%[5]s
	}
	if wardR != nil {
		panic(wardR)
	}
}()`
	goExampleEnd = `defer func() {
	wardR, wardSays := recover(), %[2]q
	if wardR != nil {
		wardSays = %[3]q
	}
	%[4]s
	%[5]s
	if wardR != nil {
		panic(wardR)
	}
}()`
)

// goDir reads, as the test begins, what goTells needs: a test may change its environment, which is
// restored only after the deferred call.
const goDir = "wardDir := wardOS.TempDir()\n\t"

// goTells writes the value of an expression to the file. goWith adds what it calls.
func goTells(m mark, says string) string {
	return fmt.Sprintf(`if wardF, wardE := wardOS.OpenFile(wardDir+"/"+%q, wardOS.O_APPEND|wardOS.O_CREATE|wardOS.O_WRONLY, 0666); wardE == nil {
	_, _ = wardF.WriteString(%q + %s + "\n")
	_ = wardF.Close()
}`, File(m.word), m.word, says)
}

// goTests puts the change before all else that a test does: the first deferred call runs last,
// however the test returns.
func goTests(text string) (tests []test) {
	files, _, all := goFile(text)
	at := func(pos token.Pos) int { return files.PositionFor(pos, false).Offset }
	for _, f := range all {
		tests = append(tests, test{f.Name.Name, at(f.Body.Lbrace), at(f.Body.Rbrace), func(how How, m mark) (edits []edit) {
			does, parameter, breaks := goExampleEnd, "", fmt.Sprintf("panic(%q + wardSays)", m.word)
			if goKind(f) == example {
				if how == Pass {
					return nil // what it prints is compared
				}
			} else {
				does = goEnd
				parameter, edits = goParameter(f, at)
				breaks = fmt.Sprintf("%s.Error(%q + wardSays)", parameter, m.word)
			}
			if m.tell {
				breaks = ""
			}
			brace := at(f.Body.Lbrace) + 1
			if does = fmt.Sprintf(does, parameter, m.tail(ended), m.tail(fails), goTells(m, "wardSays"), breaks); how == Pass {
				if does = "return"; goKind(f) == "Fuzz" { // one that does nothing must skip
					does = parameter + ".Skip()\n\treturn"
				}
			}
			if how != Pass {
				does = goDir + does
			}
			if how == Tell {
				edits = append(edits, goRows(f, at, m)...)
			}
			edits = append(edits, edit{brace, brace, "\n\t" + does + "\n"})
			if how == Tell && goKind(f) == "Test" {
				edits = append(edits, goTaken(f, parameter, text, at, m)...)
				edits = append(edits, goRounds(f, parameter, text, at, m)...)
			}
			return edits
		}})
	}
	return tests
}

// goParameter returns the name of a test's parameter, and the edit that names one without a name.
func goParameter(f *ast.FuncDecl, at func(token.Pos) int) (name string, edits []edit) {
	const given = "wardT"
	only := f.Type.Params.List[0]
	switch {
	case len(only.Names) == 0:
		return given, []edit{{at(only.Type.Pos()), at(only.Type.Pos()), given + " "}}
	case only.Names[0].Name == "_":
		return given, []edit{{at(only.Names[0].Pos()), at(only.Names[0].End()), given}}
	}
	return only.Names[0].Name, nil
}

// goWith imports what the changed tests call, and keeps a formatted file formatted: a command may
// check that.
func goWith(was, text, _ string) string {
	text = goTakes(text)
	if same, err := format.Source([]byte(was)); err != nil || string(same) != was {
		return text
	}
	if formatted, err := format.Source([]byte(text)); err == nil {
		return string(formatted)
	}
	return text
}

// goTakes imports what goTells calls.
func goTakes(text string) string {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", text, parser.PackageClauseOnly)
	if err != nil || !strings.Contains(text, "wardOS.") {
		return text
	}
	at := files.PositionFor(file.Name.End(), false).Offset
	takes := ""
	for _, of := range [][2]string{{"wardOS", "os"}, {"wardAtomic", "sync/atomic"}, {"wardFlag", "flag"}, {"wardReflect", "reflect"}, {"wardRuntime", "runtime"}, {"wardStrings", "strings"}, {"wardTesting", "testing"}} {
		if strings.Contains(text, of[0]+".") {
			takes += fmt.Sprintf("; import %s %q", of[0], of[1])
		}
	}
	return text[:at] + takes + text[at:]
}

// goInsert inserts statements after braces. It returns "" if there is no brace.
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

// goHollow makes each function return zeros at once, including main, init and those that initialize a
// variable.
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

// goZeros returns the zeros of results, none for named ones, which begin as zeros.
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

// goOnly keeps the file's build constraints. Of a file without tests it keeps only the package clause,
// because the rest may need code that is not there.
func goOnly(text string, c Change) string {
	files, file, tests := goFile(text)
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
		id, how := c.Of(f.Name.Name)
		m := mark{word: c.Word, id: id}
		tail := strconv.Quote(m.tail(fails))
		tells, says := goDir+goTells(m, tail)+"\n\t", fmt.Sprintf("%q + %s", c.Word, tail)
		if kind == example {
			if how == End {
				does = tells + "panic(" + says + ")"
			}
			// Of another name: go vet, which go test runs, looks for what an example names.
			fmt.Fprintf(&b, "\nfunc Example_of%s() {\n\t%s\n\t// Output:\n}\n", strings.TrimPrefix(f.Name.Name, example), does)
			continue
		}
		switch {
		case how == End:
			does = tells + "t.Error(" + says + ")"
		case kind == "Fuzz":
			does = "t.Skip()" // which a fuzz test must do that does nothing
		}
		fmt.Fprintf(&b, "\nfunc %s(t *testing.%s) { %s }\n", f.Name.Name, goKinds[kind], does)
	}
	return goTakes(b.String())
}
