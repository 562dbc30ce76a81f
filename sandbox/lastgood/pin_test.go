package lastgood

import (
	"os"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/boot"
)

// TestPinned: where a rollback is said to have gone is pinned while main has the program that it
// left; what is no commit that main was at, or gave way, is not.
func TestPinned(t *testing.T) {
	tier.First(t, "it builds the binaries for a guarded repository")
	p := gittest.New(t)
	book := Book{p.Bare, control}
	push := func(branch, path, text string) string {
		t.Helper()
		p.Commit(path, text)
		p.Git("push", "-q", "origin", branch)
		return strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	}
	is := func(what string, err error, want ...string) {
		t.Helper()
		got := strings.Fields(p.Run(p.Bare, "git", "for-each-ref", "--format=%(objectname)", boot.PinFrom, boot.PinTo))
		if err != nil || strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %v pinned, want %v, %v", what, got, want, err)
		}
	}
	refused := func(what, said string) {
		t.Helper()
		if err := book.RolledBack(t.Context(), said); err == nil {
			t.Errorf("%s: %q is taken", what, said)
		}
		is(what, nil)
	}
	first := push("main", "program", "a")
	old := push("main", "program", "b")
	p.Git("checkout", "-q", "-b", "agent/x")
	branch := push("agent/x", "program", "x")
	p.Git("checkout", "-q", "main")
	now := push("main", "program", "c")
	zero := strings.Repeat("0", 40)
	for _, said := range []string{"", " ", now, now + " ", now + " main", now + " " + zero, zero + " " + old, now + "  " + old, now + " " + old + " x", now + " " + old[:12]} {
		refused("no commits", said)
	}
	refused("a branch", now+" "+branch)
	refused("from a branch", branch+" "+old)
	is("to itself", book.RolledBack(t.Context(), now+" "+now))
	is("from what main was", book.RolledBack(t.Context(), old+" "+first))
	is("a rollback", book.RolledBack(t.Context(), now+" "+old), now, old)
	is("again", book.RolledBack(t.Context(), now+" "+old), now, old)
	is("on", book.RolledBack(t.Context(), now+" "+first), now, first)
	is("what is not pinned does not hold", book.Unpinned(t.Context(), old), now, first)
	comms, err := os.ReadFile(p.Work + "/COMMS.md")
	if err != nil {
		t.Fatal(err)
	}
	push("main", "COMMS.md", strings.Replace(string(comms), "## Directives\n", "## Directives\n\n### D-1: do\n", 1))
	is("main has another report", book.Moved(t.Context()), now, first)
	is("it does not hold", book.Unpinned(t.Context(), first))
	is("nothing is pinned", book.Unpinned(t.Context(), zero))
	is("a rollback", book.RolledBack(t.Context(), now+" "+old), now, old)
	is("the PM's reset", book.Forget(t.Context()))
	is("a rollback", book.RolledBack(t.Context(), now+" "+old), now, old)
	next := push("main", "program", "d")
	is("main has moved", book.Moved(t.Context()))
	is("one that began before", book.RolledBack(t.Context(), now+" "+old))
	if err := book.FellBack(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	last := push("main", "program", "e")
	is("to what gave way", book.RolledBack(t.Context(), last+" "+next))
	p.Fsck()
}
