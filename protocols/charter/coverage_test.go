package charter

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tableStart is the line of doc.go below which the table stands.
const tableStart = "// The rule, the package that enforces it, and the test of that:\n//"

// TestCoverage holds every rule that Ward ships to a package that enforces it and
// to a test of that, by testdata/coverage.txt: each with words that stand there. It
// makes the table in doc.go of that; WARD_UPDATE=1 writes it.
func TestCoverage(t *testing.T) {
	var table strings.Builder
	table.WriteString(tableStart + "\n")
	covered := map[string]bool{}
	for line := range strings.Lines(string(readFile(t, "testdata/coverage.txt"))) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 3 {
			t.Fatalf("%q", line)
		}
		covered[cells[0]] = true
		for _, cell := range cells[1:] {
			file, words, _ := strings.Cut(cell, ", ")
			if words == "" || !bytes.Contains(textOf(t, "../../"+file), []byte(words)) {
				t.Errorf("%s: %q does not stand in %s", cells[0], words, file)
			}
		}
		enforced, _, _ := strings.Cut(cells[1], ", ")
		test, _, _ := strings.Cut(cells[2], ", ")
		fmt.Fprintf(&table, "//\t%-36s %-46s %s\n", cells[0], enforced, test)
	}
	for line := range strings.Lines(string(readFile(t, "testdata/seed002.txt"))) {
		if _, rule, ok := strings.Cut(strings.TrimSpace(line), " "); ok && !strings.HasPrefix(line, "#") && !covered[rule] {
			t.Errorf("nothing enforces the rule %s", rule)
		}
	}
	table.WriteString("package charter\n")
	doc := string(readFile(t, "doc.go"))
	head, have, ok := strings.Cut(doc, tableStart+"\n")
	switch have = tableStart + "\n" + have; {
	case !ok:
		t.Errorf("doc.go has no line %q", tableStart)
	case have == table.String():
	case os.Getenv("WARD_UPDATE") != "":
		if err := os.WriteFile("doc.go", []byte(head+table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Error("the table in doc.go is not that of testdata/coverage.txt: WARD_UPDATE=1 go test -run TestCoverage writes it")
	}
}

// textOf is a file's text, or that of a package's code without its tests.
func textOf(t *testing.T, path string) []byte {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Error(err)
		return nil
	}
	if !info.IsDir() {
		return readFile(t, path)
	}
	files, err := filepath.Glob(filepath.Join(path, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			text = append(text, readFile(t, file)...)
		}
	}
	return text
}
