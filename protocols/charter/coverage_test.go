package charter

import (
	"bytes"
	"fmt"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// tableStart is the line of docs/agent.md below which the table stands.
const tableStart = "| rule | how it is held | by what | test |\n| --- | --- | --- | --- |\n"

// TestCoverage holds every rule of 002, which are those that Ward ships, to what holds it
// and to a test of that, by testdata/coverage.txt: a rule of a check is a text of its
// package's code, what does something is declared there, and the test is there by its
// name. It makes the table in docs/agent.md of that; WARD_UPDATE=1 writes it.
func TestCoverage(t *testing.T) {
	var table strings.Builder
	table.WriteString(tableStart)
	covered := map[string]bool{}
	for line := range strings.Lines(string(readFile(t, "testdata/coverage.txt"))) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 4 || covered[cells[0]] {
			t.Fatalf("%q", line)
		}
		covered[cells[0]] = true
		holder, test := holds(t, cells[0], cells[1], cells[2]), tries(t, cells[0], cells[3])
		fmt.Fprintf(&table, "| %s | %s | %s | %s |\n", cells[0], cells[1], holder, test)
	}
	for line := range strings.Lines(string(readFile(t, "testdata/seed002.txt"))) {
		if _, rule, ok := strings.Cut(strings.TrimSpace(line), " "); ok && !strings.HasPrefix(line, "#") && !covered[rule] {
			t.Errorf("nothing is said of the rule %s", rule)
		}
	}
	shows(t, "../../docs/agent.md", tableStart, table.String())
	shows(t, "../../docs/agent.md", gapsStart, gaps(t, covered))
}

// gapsStart begins the table of what does not hold.
const gapsStart = "| rule | what does not hold | test |\n| --- | --- | --- |\n"

// gaps is that table, made of testdata/gaps.txt.
func gaps(t *testing.T, rules map[string]bool) string {
	t.Helper()
	table := gapsStart
	for line := range strings.Lines(string(readFile(t, "testdata/gaps.txt"))) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 3 || !rules[cells[0]] {
			t.Fatalf("%q", line)
		}
		table += fmt.Sprintf("| %s | %s | %s |\n", cells[0], cells[1], tries(t, cells[0], cells[2]))
	}
	return table
}

// shows holds a document to a table, or writes it there.
func shows(t *testing.T, path, start, table string) {
	doc := string(readFile(t, path))
	head, rest, ok := strings.Cut(doc, start)
	if !ok {
		t.Fatalf("%s has no line %q", path, start)
	}
	end := strings.Index(rest, "\n\n")
	switch {
	case start+rest[:end+1] == table:
	case os.Getenv("WARD_UPDATE") != "":
		if err := os.WriteFile(path, []byte(head+table+rest[end+1:]), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the table in %s is not that of testdata/coverage.txt: WARD_UPDATE=1 go test -run TestCoverage writes it", path)
	}
}

// holds looks for what holds a rule, and is how the table names it.
func holds(t *testing.T, rule, kind, what string) string {
	t.Helper()
	if !slices.Contains([]string{"refused", "done", "advice"}, kind) {
		t.Errorf("%s: %q is no way to hold a rule", rule, kind)
	}
	dir, name, _ := strings.Cut(what, " ")
	declared, texts := codeOf(t, "../../"+dir)
	if kind == "refused" {
		if !texts[name] {
			t.Errorf("%s: no code of %s says %q", rule, dir, name)
		}
		return "`" + name + "` ([" + dir + "](../" + dir + "))"
	}
	if !declared[name] {
		t.Errorf("%s: %s has no %q", rule, dir, name)
	}
	return "`" + name + "` of [" + dir + "](../" + dir + ")"
}

// tries looks for the test of a rule, and is how the table names it.
func tries(t *testing.T, rule, what string) string {
	t.Helper()
	file, name, _ := strings.Cut(what, " ")
	data := readFile(t, "../../"+file)
	if name == "" || strings.HasSuffix(file, ".go") && !bytes.Contains(data, []byte("func "+name+"(")) || !bytes.Contains(data, []byte(name)) {
		t.Errorf("%s: %s has no %q", rule, file, name)
	}
	if strings.HasSuffix(file, ".go") {
		return "`" + name + "`"
	}
	return "[" + filepath.Base(file) + "](../" + file + ")"
}

// codeOf is what a package declares at its top, methods included, and the texts that stand
// in it, tests left out.
func codeOf(t *testing.T, dir string) (declared, texts map[string]bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	declared, texts = map[string]bool{}, map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := goparser.ParseFile(token.NewFileSet(), name, nil, goparser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				declared[n.Name.Name] = true
			case *ast.TypeSpec:
				declared[n.Name.Name] = true
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					texts[text] = true
				}
			}
			return true
		})
	}
	return declared, texts
}
