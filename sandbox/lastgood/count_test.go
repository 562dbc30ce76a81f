package lastgood

import (
	"maps"
	"strings"
	"sync"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/boot"
)

// TestCounted: a count is as long as what befell one program, whoever says so and at once, and never
// longer than a list may be; another program's begins anew, and nothing is taken off it by what the
// one before did. What is said of no commit of main, or of no branch, counts nothing.
func TestCounted(t *testing.T) {
	tier.First(t, "it builds the binaries for a guarded repository")
	p := gittest.New(t)
	book := Book{p.Bare, control}
	first := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	p.Commit("program", "next")
	p.Git("push", "-q", "origin", "main")
	next := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	p.Git("checkout", "-q", "-b", "agent/x")
	p.Commit("program", "of a branch")
	p.Git("push", "-q", "origin", "agent/x")
	branch := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	is := func(of, commit string, n int) {
		t.Helper()
		want := strings.TrimSuffix(strings.Repeat(commit+" ", n), " ")
		if got := strings.Join(strings.Fields(p.Run(p.Bare, "git", "for-each-ref", "--format=%(objectname)", boot.CountPrefix(of, "D-1"))), " "); got != want {
			t.Errorf("%s: %q, want %q", of, got, want)
		}
	}
	say := func(said string, ok bool) {
		t.Helper()
		if err := book.Counted(t.Context(), said, "D-1"); (err == nil) != ok {
			t.Errorf("%s: %v", said, err)
		}
	}
	for _, c := range []struct {
		said   string
		ok     bool
		commit string
		n      int
	}{
		{"deaths -1 " + first, true, "", 0},
		{"deaths 2 " + first, true, first, 2},
		{"deaths 2 " + first, true, first, 4},
		{"deaths -1 " + first, true, first, 3},
		{"deaths 6 " + first, true, first, boot.MaxCount},
		{"deaths -1 " + next, true, first, boot.MaxCount},
		{"deaths 2 " + next, true, next, 2},
		{"deaths 2 " + branch, false, next, 2},
		{"deaths 2 " + strings.Repeat("1", 40), false, next, 2},
		{"deaths 7 " + next, false, next, 2},
		{"deaths 0 " + next, false, next, 2},
		{"deaths +2 " + next, false, next, 2},
		{"idle 2 " + next, false, next, 2},
		{"deaths 2 main", false, next, 2},
		{"deaths -6 " + next, true, "", 0},
	} {
		say(c.said, c.ok)
		is(boot.Deaths, c.commit, c.n)
	}
	say("trials 1 "+branch, true)
	is(boot.Trials, branch, 1)
	say("hops 2 "+branch, true)
	is(boot.Hops, branch, 2)
	say("ends 1 "+next, false)
	var all sync.WaitGroup
	for range 3 { // three containers
		all.Go(func() { say("deaths 1 "+next, true) })
	}
	all.Wait()
	is(boot.Deaths, next, 3)
	for n := range 2 {
		if got, err := book.Idle(t.Context(), next); got != n+1 || err != nil {
			t.Errorf("%d idle: %v", got, err)
		}
	}
	for n, well := range []bool{false, false, true, false} {
		if err := book.Ended(t.Context(), "D-1", well); err != nil {
			t.Error(err)
		}
		want := map[string]int{"D-1": []int{1, 2, 0, 1}[n]}
		if well {
			want = nil
		}
		if got, err := book.BadEnds(t.Context()); !maps.Equal(got, want) || err != nil {
			t.Errorf("after %d ends: %v, %v", n+1, got, err)
		}
	}
	p.Fsck()
	p.Git("checkout", "-q", "main")
	p.Commit("program", "mended")
	p.Git("push", "-q", "origin", "main")
	if got, err := book.BadEnds(t.Context()); len(got) != 0 || err != nil {
		t.Errorf("of another program: %v, %v", got, err)
	}
	is(boot.Ends, "", 0)
	if err := book.Ended(t.Context(), "D-1", false); err != nil {
		t.Error(err)
	}
	broken := strings.TrimSpace(p.Run(p.Bare, "sh", "-c", "git cat-file commit "+next+" | sed '1s/.*/tree "+strings.Repeat("1", 40)+"/' | git hash-object -t commit -w --stdin"))
	p.Run(p.Bare, "git", "update-ref", boot.CountRef(boot.CountPrefix(boot.Ends, "D-0"), 1), broken)
	if got, err := book.BadEnds(t.Context()); !maps.Equal(got, map[string]int{"D-1": 1}) || err == nil {
		t.Errorf("with one that cannot be read: %v, %v", got, err)
	}
	if err := book.Works(t.Context(), next); err != nil {
		t.Error(err)
	}
	is(boot.Idle, "", 0)
	if err := book.Forget(t.Context()); err != nil {
		t.Error(err)
	}
	is(boot.Deaths, "", 0)
	is(boot.Trials, "", 0)
	is(boot.Hops, "", 0)
	is(boot.Ends, "", 0)
}
