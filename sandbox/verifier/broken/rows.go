package broken

import (
	"fmt"
	"go/ast"
	"go/token"
	"strconv"
	"strings"
)

// A row is a test within a test, whose name its runner makes as it runs: a Go subtest, or pytest's call
// of a test for one set of parameters. With Tell, each row reports its name when it begins (in Python
// when it ends) and when it passes: a row that failed without the work has to run with it, too.

// Started follows a row's name where it begins.
const Started = " begins"

// rows says, by a file's extension, what a text contains whose tests may have rows.
var rows = map[string]string{".go": ".Run(", ".py": "parametrize"}

// row stands between the word and the name in a row's report.
func (m mark) row() string { return ":row:" + strconv.Itoa(m.id) + ":" }

// Rows reads the rows that an output reports, NUMBER:NAME, each with its test's number: two packages
// may have rows of one name.
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

// Titled reports whether a row's name stands in its test's text, or names a loop there. Then no part of
// the name comes from the work.
func Titled(row, text string) bool {
	name := strings.TrimSuffix(row, Started)
	return strings.Contains(name, aRound) || strings.Contains(strings.ReplaceAll(text, " ", "_"), strconv.Quote(name[strings.LastIndexByte(name, '/')+1:]))
}

// goRows changes the subtests that a test declares with a function literal. Go replaces blanks and line
// ends in their names, and makes each name unique.
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
