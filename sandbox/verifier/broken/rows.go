package broken

import (
	"fmt"
	"go/ast"
	"go/token"
	"strconv"
	"strings"
)

// A row is a test within a test, whose name its runner makes as it runs: a subtest of Go, or a
// call of a test that pytest makes for one set of parameters. Where tests Tell, each row says its name
// when it begins (in Python when it ends), and when it passes: one that failed without the work has to run with it, too.

// Started is what stands behind a row's name where it begins.
const Started = " begins"

// rows is how a text says that its tests may have some.
var rows = map[string]string{".go": ".Run(", ".py": "parametrize"}

// row is what a row says behind the word and before its name.
func (m mark) row() string { return ":row:" + strconv.Itoa(m.id) + ":" }

// Rows are the rows that an output has by a word, NUMBER:NAME, each with its test's number: two
// packages may have rows of one name.
func Rows(word, output string) map[string]int {
	found := map[string]int{}
	for {
		_, rest, more := strings.Cut(output, word+":row:")
		if !more {
			return found
		}
		output = rest
		line, _, whole := strings.Cut(rest, "\n")
		number, name, ok := strings.Cut(strings.TrimRight(line, "\r"), ":")
		if id, err := strconv.Atoi(number); whole && ok && err == nil {
			found[number+":"+name] = id
		}
	}
}

// Titled reports whether a row has a name that stands in its test's text, or is a loop there: then
// nothing that the work gives is in it.
func Titled(row, text string) bool {
	name := strings.TrimSuffix(row, Started)
	return strings.Contains(name, aRound) || strings.Contains(strings.ReplaceAll(text, " ", "_"), strconv.Quote(name[strings.LastIndexByte(name, '/')+1:]))
}

// goRows are the subtests that a test declares with a function of their own. Go writes their names
// without spaces and line ends, and gives each its own.
func goRows(f *ast.FuncDecl, at func(token.Pos) int, m mark) (edits []edit) {
	ast.Inspect(f.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 2 {
			return true
		}
		run, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || run.Sel.Name != "Run" {
			return true
		}
		row, ok := call.Args[1].(*ast.FuncLit)
		if !ok || len(row.Type.Params.List) != 1 || len(row.Type.Params.List[0].Names) != 1 || row.Type.Params.List[0].Names[0].Name == "_" {
			return true
		}
		name := row.Type.Params.List[0].Names[0].Name
		if kind := goKind(&ast.FuncDecl{Name: ast.NewIdent("Test"), Type: row.Type}); kind == "" {
			return true
		}
		says := "\n\t" + goTells(m, fmt.Sprintf("%q + %s.Name() + %q", m.row(), name, Started)) + fmt.Sprintf(`
	defer func() {
		wardR := recover()
		if wardR == nil && !%[1]s.Failed() && !%[1]s.Skipped() {
			%[2]s
		}
		if wardR != nil {
			panic(wardR)
		}
	}()
`, name, goTells(m, fmt.Sprintf("%q + %s.Name()", m.row(), name)))
		brace := at(row.Body.Lbrace) + 1
		edits = append(edits, edit{brace, brace, says})
		return true
	})
	return edits
}
