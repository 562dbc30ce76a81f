package house

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestThreatModel: every promise of docs/threat-model.md names the tests that try
// it, and each of those is there.
func TestThreatModel(t *testing.T) {
	data, err := os.ReadFile("docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	_, promises, found := strings.Cut(string(data), "\n## What is promised\n")
	promises, _, more := strings.Cut(promises, "\n## What is not promised\n")
	if !found || !more {
		t.Fatal("it has no sections \"What is promised\" and \"What is not promised\"")
	}
	rows := 0
	for line := range strings.Lines(promises) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| ---") || strings.TrimSpace(cells[0]) == "promise" {
			continue
		}
		rows++
		names := backticked.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(cells) != 2 || len(names) == 0 {
			t.Errorf("no test tries the promise %q", strings.TrimSpace(cells[0]))
		}
		for _, name := range names {
			if !hasTest(t, name[1]) {
				t.Errorf("%q names %s, and there is no such test", strings.TrimSpace(cells[0]), name[1])
			}
		}
	}
	if rows < 20 {
		t.Errorf("only %d promises were found", rows)
	}
}

var backticked = regexp.MustCompile("`([^`]+)`")

// hasTest reports whether `directory TestName` is a test function of a directory's, or
// `directory NAME.txtar` one of its scripts.
func hasTest(t *testing.T, name string) bool {
	folder, test, ok := strings.Cut(name, " ")
	if !ok {
		return false
	}
	if strings.HasSuffix(test, ".txtar") {
		_, err := os.Stat(filepath.Join(folder, "testdata", test))
		return err == nil
	}
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		data, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(data), "\nfunc "+test+"(")
	})
}
