package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// TestCloneWithoutFilter: a filter of the person's that finds nothing, as one for large files does
// where only git's objects are, does not end a clone. Its files are the stored ones, then and later.
func TestCloneWithoutFilter(t *testing.T) {
	tier.First(t, "the built programs, real hooks and pushes")
	p := gittest.New(t)
	p.Write(".gitattributes", "*.bin filter=large\n")
	p.Write("x.bin", "a pointer\n")
	p.Git("add", ".")
	p.Git("commit", "--quiet", "--message", "a large file")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	dir := filepath.Dir(p.Bare)
	settings := filepath.Join(dir, "settings")
	if err := os.WriteFile(settings, []byte("[user]\n\tname = p\n\temail = p@x.y\n[filter \"large\"]\n\tsmudge = exit 1\n\tclean = exit 1\n\trequired = true\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	env := []string{"GIT_CONFIG_GLOBAL=" + settings}
	out, err := p.Try(dir, env, "", "git-ward", "clone", p.Bare, "other")
	if err != nil || strings.Count(out, "warning: a filter of your git failed") != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	other := filepath.Join(dir, "other")
	if text, err := os.ReadFile(filepath.Join(other, "x.bin")); string(text) != "a pointer\n" {
		t.Errorf("%q, %v", text, err)
	}
	p.Write("x.bin", "another\n")
	p.Git("commit", "--quiet", "--all", "--message", "another")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	for _, args := range [][]string{{"pull", "--quiet"}, {"status", "--porcelain"}} {
		if out, err := p.Try(other, env, "", "git", args...); err != nil || out != "" {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	// A failure before there is a clone has nothing to do with filters.
	out, err = p.Try(dir, env, "", "git-ward", "clone", filepath.Join(dir, "none.git"), "none")
	if err == nil || strings.Contains(out, "filter") {
		t.Errorf("%v\n%s", err, out)
	}
}
