package bootstrap_test

import (
	"strings"
	"testing"

	"git-ward/protocols/boot"
)

// TestPin: a watcher that knows nothing of a rollback, in a new container, starts where the host says
// that it went, until main's code moves, or what is pinned does not hold: then main, while the host
// has not heard of that, too, and is told once.
func TestPin(t *testing.T) {
	t.Parallel()
	dying := library + "[ -e \"$S/dies\" ] && { ok; exit 1; }\n"
	s := newSite(t, dying+steadily+"# old\n")
	old := s.head()
	now := s.main(steadily + "# new\n")
	pin := func(from, to string) {
		s.Run(s.Bare, "git", "update-ref", boot.PinFrom, from)
		s.Run(s.Bare, "git", "update-ref", boot.PinTo, to)
	}
	contain := func(name string) { // a container whose state is its own
		s.kill()
		s.endLeftovers()
		s.state += name
		s.start()
	}
	pin(now, old)
	s.start()
	s.awaitLast(boot.Success, old)
	report := strings.Replace(s.Git("show", "HEAD:COMMS.md"), "## Directives\n", "## Directives\n\n### D-1: do\n", 1)
	s.Commit("COMMS.md", report)
	if out, err := s.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	contain("2") // main's commit is another now, and its code is not
	s.awaitLast(boot.Success, old)
	s.Write("../state2/dies", "")
	s.endAgent()
	unpinned := boot.Unpinned + old + "\n"
	s.until("the host is told", func() bool { return strings.Contains(s.out.String(), unpinned) })
	s.until("main runs", func() bool {
		e := last(s.history(), boot.Success)
		return e.Commit != old && e.Commit != ""
	})
	s.endAgent()
	s.awaitCount("SUCCESS main", strings.Count(strings.Join(s.events(), "\n"), "SUCCESS main")+1)
	if e := last(s.history(), boot.Success); e.Commit == old || strings.Count(s.out.String(), unpinned) != 1 {
		t.Errorf("%v\n%s", e, s.out.String())
	}
	contain("3")
	s.awaitLast(boot.Success, old)
	next := s.main(steadily + "# next\n")
	s.awaitLast(boot.Success, next)
	contain("4") // the host's pin is there still
	s.awaitLast(boot.Success, next)
}
