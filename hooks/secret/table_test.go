package secret

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMain reads the table, which many tests look at before they scan.
func TestMain(m *testing.M) {
	New(0).prepare()
	m.Run()
}

func TestExpressionsCompile(t *testing.T) {
	ids := map[string]bool{}
	for _, r := range rules {
		sources := []string{r.regex, "^(?:" + r.regex + ")", r.path}
		for _, a := range r.allow {
			sources = append(sources, a.regex)
		}
		for _, source := range sources {
			if _, err := regexp.Compile(source); err != nil {
				t.Errorf("%s: %v", r.id, err)
			}
		}
		if r.id == "" || r.description == "" || ids[r.id] || r.regex == "" && r.path == "" {
			t.Errorf("rule %q lacks something or is there twice", r.id)
		}
		ids[r.id] = true
		if r.regex != "" && (len(r.anchors) == 0 || r.group > regexp.MustCompile(r.regex).NumSubexp()) {
			t.Errorf("rule %q cannot find a secret", r.id)
		}
	}
	for _, a := range append(globalAllow, goSum) {
		if _, err := regexp.Compile(a.regex); err != nil {
			t.Error(err)
		}
	}
	if len(rules) < 200 {
		t.Errorf("only %d rules", len(rules))
	}
}

// TestNoInit: the hook links this package, and pays nothing for it until it
// scans. A package with anything to initialise has a line in the trace.
func TestNoInit(t *testing.T) {
	if testing.CoverMode() != "" {
		t.Skip("counting coverage is something to initialise")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "init regexp/syntax") {
		t.Fatal("no trace")
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "init git-ward/") {
			t.Error(line)
		}
	}
}

// TestSelf: neither the rules nor these tests look like secrets to the rules.
func TestSelf(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		found, err := New(1<<30).Scan(path, data)
		for _, f := range found {
			t.Errorf("%s: %v", path, f)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
