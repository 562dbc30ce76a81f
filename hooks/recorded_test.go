package hooks_test

import (
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// TestRecorded: a repository that 0.1.0 made goes on under this program: it is whole as it
// comes and after init has brought its hooks up to date, what waits is shown and taken, a
// unit that was killed at its claim gets its verdict, the PM's word on it, and ends, and its
// people push as before.
func TestRecorded(t *testing.T) {
	tier.First(t, "it builds Ward's programs")
	p := gittest.Recorded(t)
	dir := filepath.Dir(p.Bare)
	whole := func(when string) {
		t.Helper()
		out, err := p.Try(p.Bare, nil, "", "git-ward", "fsck")
		if err != nil || !strings.Contains(out, " 0 findings") {
			t.Errorf("%s: %v\n%s", when, err, out)
		}
	}
	whole("as it comes")
	p.Run(dir, "git-ward", "init", "--bare", p.Bare)
	whole("after init")
	p.Run(dir, "git-ward", "clone", p.Bare, p.Work)
	p.Commit("notes.txt", "the PM goes on\n")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	gittest.InOrder(t, p.Run(p.Work, "git-ward", "review", "D-3"), "D-3 say goodbye", "proved: ", "leave.sh")
	if out := p.Run(p.Work, "git-ward", "take", "--unjudged", "D-3"); !strings.Contains(out, "taken: D-3 ") {
		t.Error(out)
	}
	if out := p.Run(p.Work, "git-ward", "uow", "show", "D-2.1"); !strings.Contains(out, "ACTIVE") {
		t.Error(out)
	}
	p.Run(p.Work, "git-ward", "uow", "cancel", "--reason", "NOT_NEEDED", "D-4.1")
	whole("after a push, a take and a word of the PM's")
	launch := func() {
		t.Helper()
		p.Run(dir, "git-ward", "launch", "--unfenced", "--once", "--bare", p.Bare, "--state", filepath.Join(dir, "state"), "--model", "script")
	}
	launch()
	p.Git("pull", "-q", "--rebase")
	// Its text does not say what is work: a word of the PM's does.
	gittest.InOrder(t, p.Run(p.Work, "git-ward", "include", "D-2"), "D-2 includes 3 paths", "D-2.1: begun, iteration 3")
	launch()
	if out := p.Run(p.Work, "git-ward", "uow", "show", "--bare", p.Bare, "D-2.1"); !strings.Contains(out, "complete") {
		t.Error(out)
	}
	p.Git("pull", "-q", "--rebase")
	if out := p.Run(p.Work, "git-ward", "take", "--unjudged", "D-2"); !strings.Contains(out, "taken: D-2 ") {
		t.Error(out)
	}
	whole("after the work went on")
}
