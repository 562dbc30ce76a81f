package bootstrap_test

import (
	"strings"
	"testing"

	"git-ward/internal/tier"
	"git-ward/protocols/boot"
	"git-ward/protocols/comms"
)

// TestMainMoves: a branch that said SUCCESS and stays, and a commit that a rollback went
// to, run until main's code moves: then main is started. A report is no such move (BOOT-4).
func TestMainMoves(t *testing.T) {
	tier.Full(t, "the watcher's patience of 20 seconds with an agent that is not wanted any more")
	t.Parallel()
	for name, signal := range map[string]string{"bootstrap": "agent/x", "rollback": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, library+"ok\nexec sleep 1000\n# old\n") // one that ends by itself at a signal would at a malformed one
			old := s.head()
			s.branch("agent/x", library+"ok\nexec sleep 1000\n")
			now := s.main(library + "ok\nexec sleep 1000\n# new\n")
			s.start()
			s.awaitLast(boot.Success, now)
			target, where := s.Run(s.Bare, "git", "rev-parse", "agent/x"), signal
			if signal == "" {
				where, target = old, old
			}
			s.signal(name, where)
			s.awaitLast(boot.Success, strings.TrimSpace(target))
			running := s.agent()
			s.signal("bootstrap", "a b") // what is told moves main, and not its code
			s.until("the report", func() bool { return len(s.reports(comms.Guard)) == 1 })
			if again := s.agents(); len(again) != 1 || again[0] != running {
				t.Errorf("%d, then %v", running, again)
			}
			next := s.main(steadily + "# next\n")
			s.awaitLast(boot.Success, next)
			for _, e := range s.history() {
				if e.Event == boot.Failure && e.Branch != boot.Unknown {
					t.Errorf("%v", e)
				}
			}
			s.onlyOne()
		})
	}
}

// TestMainMovesMeanwhile: main's code that moves while a branch, or what a rollback goes to,
// is still being built is no less a move: it runs next, and no pin holds it up (BOOT-4).
func TestMainMovesMeanwhile(t *testing.T) {
	tier.Full(t, "the watcher's patience of 20 seconds with an agent that is not wanted any more")
	t.Parallel()
	const slow = library + "ok\nexec sleep 1000\n# slow\n"
	for _, kind := range []string{"bootstrap", "rollback"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, slow, `build = ["sh", "-c", "S=${PWD%/state/*}/state; grep -q slow agent.sh || exit 0; touch $S/building; while [ ! -e $S/go ]; do sleep 0.05; done"]`)
			where := s.head()
			if kind == "bootstrap" {
				s.branch("agent/x", slow+"# x\n")
				where = "agent/x"
			}
			target := strings.TrimSpace(s.Run(s.Bare, "git", "rev-parse", where))
			now := s.main(steadily)
			s.start()
			s.awaitLast(boot.Success, now)
			s.signal(kind, where)
			s.until("it is being built", func() bool { return !s.missing("building") })
			s.main(steadily + "# next\n")
			s.Run(s.state, "touch", "go")
			s.awaitLast(boot.Success, target)
			s.until("main's new code runs", func() bool {
				e := s.events()
				return strings.Contains(s.read("main/remote/agent.sh"), "# next") && e[len(e)-1] == "SUCCESS main"
			})
			s.onlyOne()
			s.Fsck()
		})
	}
}

// TestDeath: an agent that is killed, or ends badly, is told once with the number of
// times, while the next one runs already; it is no restart that the PM has to hear of, too.
func TestDeath(t *testing.T) {
	tier.Full(t, "a notice waits 15 seconds for its like")
	t.Parallel()
	s := newSite(t, library+"ok\nexec 9>&-\n[ -e \"$S/calm\" ] && exec sleep 1000\nkill -9 $$\n", `check = "1m"`, `restarts = 2`)
	s.start()
	s.awaitCount("SUCCESS main", 4)
	s.Run(s.state, "touch", "calm")
	s.until("the report", func() bool { return len(s.reports(comms.Guard)) > 0 })
	s.until("the next one runs", func() bool { return len(s.agents()) == 1 })
	told := s.reports(comms.Guard)
	if len(told) != 1 || !strings.Contains(told[0].Raw, "ended by itself after ") || !strings.Contains(told[0].Raw, "s: killed by signal 9") || !strings.Contains(told[0].Raw, "times by now") {
		t.Errorf("%v", told)
	}
	s.history()
	s.Fsck()
}
