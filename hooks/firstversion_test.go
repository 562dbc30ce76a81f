package hooks_test

import (
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// TestFirstVersion: a repository of the first version's is whole to this one, as it
// comes and after init has brought its hooks and settings up to date, and its people
// push as before.
func TestFirstVersion(t *testing.T) {
	tier.First(t, "it builds Ward's programs")
	p := gittest.FirstVersion(t)
	whole := func(when string) {
		t.Helper()
		out, err := p.Try(p.Bare, nil, "", "git-ward", "fsck")
		if err != nil || !strings.Contains(out, " 0 findings") {
			t.Errorf("%s: %v\n%s", when, err, out)
		}
	}
	whole("as it comes")
	p.Run(filepath.Dir(p.Bare), "git-ward", "init", "--bare", p.Bare)
	whole("after init")
	p.Run(filepath.Dir(p.Bare), "git-ward", "clone", p.Bare, p.Work)
	p.Commit("notes.txt", "the PM goes on\n")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	whole("after a push")
}
