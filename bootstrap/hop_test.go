package bootstrap_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/tier"
	"git-ward/protocols/boot"
	"git-ward/protocols/comms"
)

// TestHop is the way of an upgrade: from main to a branch, which is built, tried
// and started, and back to main; the old tree goes (BOOT-3).
func TestHop(t *testing.T) {
	t.Parallel()
	s := newSite(t, steadily, `build = ["sh", "-c", "echo built >>built; grep ok agent.sh"]`, `validate = ["sh", "-c", "test -e built && echo tried >>../../../tried"]`)
	main := s.head()
	tip := s.branch("agent/x", handover)
	s.start()
	s.await("BOOTSTRAPPING main", "SUCCESS main")
	s.signal("bootstrap", "agent/x")
	s.await("BOOTSTRAPPING agent/x", "SUCCESS agent/x", "BOOTSTRAPPING main", "SUCCESS main")
	if e := s.history(); e[2].Commit != tip || e[4].Commit != main || len(e) != 6 {
		t.Errorf("%v", e)
	}
	s.until("the old tree is gone", func() bool { return s.missing("agent") && s.missing(".signal/bootstrap") })
	if got := s.read("tried"); got != "tried\ntried\n" && got != "tried\n" {
		t.Errorf("validate ran: %q", got)
	}
	want := boot.Booted + main + "\n"
	s.until("main is said to have started, twice", func() bool { return s.told() == want+want })
	if refs := s.Run(s.Bare, "git", "for-each-ref", "refs/heads/rescue"); refs != "" {
		t.Errorf("what the build left was taken for work: %s", refs)
	}
	if !s.missing("two") {
		t.Error("two agents at once")
	}
}

// TestBackAndForth: main and a branch that hand over to each other, and do nothing else, get
// pauses as those do that end.
func TestBackAndForth(t *testing.T) {
	tier.Full(t, "it waits for pauses")
	t.Parallel()
	s := newSite(t, library+"ok\nsignal bootstrap agent/x\n")
	s.branch("agent/x", handover)
	s.start()
	s.until("a pause between handovers", func() bool {
		if n := len(s.events()); n > 40 {
			t.Fatalf("%d starts and answers without a pause", n)
		}
		return strings.Contains(s.read("logs/watcher.log")+s.err.String(), `"short_runs":3`)
	})
}

// fallback is what is wrong with a branch, and what the log says of it.
type fallback struct {
	agent    string
	settings []string
	target   string
	want     string
}

// TestFallback: whatever is wrong with a branch, main runs again, bootstrap.log has
// the reason, and the PM is told once.
func TestFallback(t *testing.T) {
	t.Parallel()
	testFallback(t, map[string]fallback{
		"bad target":       {"", nil, "agent/nowhere", "the repository has no such branch"},
		"does not build":   {"x=broken\n", []string{`build = ["sh", "-c", "! grep broken agent.sh || { echo this is why; exit 3; }"]`}, "agent/x", "build: exit 3: x=broken; this is why"},
		"is not valid":     {"x=broken\n", []string{`validate = ["sh", "-c", "! grep -q broken agent.sh"]`}, "agent/x", "validate: exit 1"},
		"crashes at start": {"echo no such thing >&2; exit 7\n", nil, "agent/x", "exit 7: no such thing"},
		"lies":             {library + "WARD_COMMIT=0123456789012345678901234567890123456789; ok; exit 0\n", nil, "agent/x", "exit 0"},
	})
}

// TestFallbacks is the rest of TestFallback's table. What hangs is ended at a limit that main,
// which takes hundredths of a second, has as well: no machine is slow enough for that.
func TestFallbacks(t *testing.T) {
	tier.Full(t, "more of TestFallback's table, with waits of seconds")
	t.Parallel()
	testFallback(t, map[string]fallback{
		"bad folder":        {"", nil, "logs/x", "own folder logs"},
		"validate hangs":    {"x=broken\n", []string{`validate = ["sh", "-c", "! grep -q broken agent.sh || { trap '' TERM; sleep 100000 & wait; }"]`, `validate_timeout = "30s"`}, "agent/x", "validate: it ran longer than 30s"},
		"killed at start":   {"kill -9 $$\n", nil, "agent/x", "killed by signal 9"},
		"hangs at start":    {"trap '' TERM; while :; do sleep 1; done\n", []string{`start_timeout = "30s"`}, "agent/x", "no SUCCESS within 30s"},
		"program not there": {"", []string{`build = ["sh", "-c", "! test -e ../../../agent/x || rm agent.sh"]`}, "agent/x", "exit"},
	})
}

func testFallback(t *testing.T, table map[string]fallback) {
	for name, c := range table {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, steadily, c.settings...)
			tip := s.branch("agent/x", c.agent)
			s.start()
			s.await("SUCCESS main")
			s.signal("bootstrap", c.target)
			s.until("a failure, and main again", func() bool {
				e := s.events()
				i := slices.IndexFunc(e, func(w string) bool { return strings.HasPrefix(w, "FAILURE") })
				return i > 0 && slices.Contains(e[i:], "SUCCESS main")
			})
			if name == "lies" {
				if f := last(entries(s), boot.Failure); f.Commit != tip {
					t.Errorf("%v", f)
				}
				return // its log has a line that is no end of a start
			}
			f := last(s.history(), boot.Failure)
			if f.Branch != c.target && f.Branch != boot.Unknown || !strings.Contains(f.Reason, c.want) {
				t.Errorf("%v, want %q", f, c.want)
			}
			if c.target == "agent/x" && f.Commit != tip {
				t.Errorf("%v is not of %s", f, tip)
			}
			if told := s.reports(comms.Fallback); len(told) != 1 || !strings.Contains(told[0].Raw, "could not be started from "+c.target) {
				t.Errorf("reports %v", told)
			}
			if len(s.agents()) != 1 {
				t.Errorf("agents %v", s.agents())
			}
		})
	}
}

func entries(s *site) (list []boot.Entry) {
	for line := range strings.Lines(s.read("logs/bootstrap.log")) {
		if e, err := boot.Parse(strings.TrimSuffix(line, "\n")); err == nil {
			list = append(list, e)
		}
	}
	return list
}

// TestLastGood: a main that does not start gives way to the last commit that did,
// until the PM mends main; that push is seen at once (AGT-6).
func TestLastGood(t *testing.T) {
	t.Parallel()
	s := newSite(t, steadily)
	good := s.head()
	s.Run(s.Bare, "git", "update-ref", "refs/ward/last-good", good)
	bad := s.main("exit 1\n")
	s.start()
	s.await("BOOTSTRAPPING main", "FAILURE main", "BOOTSTRAPPING main", "SUCCESS main")
	if e := s.history(); e[0].Commit != bad || e[3].Commit != good {
		t.Errorf("%v", e)
	}
	s.until("the PM is told", func() bool { return len(s.reports(comms.Fallback)) == 1 })
	// The report moved main, but not its code.
	s.endAgent()
	s.awaitCount("SUCCESS main", 2)
	if e := s.history(); last(e, boot.Success).Commit != good {
		t.Errorf("%v", e)
	}
	s.main(steadily + "# mended\n")
	s.endAgent()
	s.awaitRun(steadily + "# mended\n")
	if len(s.reports(comms.Fallback)) != 1 {
		t.Error("told again")
	}
}

// endAgent kills the agent as it works.
func (s *site) endAgent() {
	s.T.Helper()
	for _, pid := range s.agents() {
		if p, err := os.FindProcess(pid); err == nil {
			p.Kill()
		}
	}
}

func (s *site) awaitCount(event string, n int) {
	s.T.Helper()
	var want []string
	for range n {
		want = append(want, event)
	}
	s.await(want...)
}

// TestCrashes: an agent that ends again and again is started again and again, with
// pauses, and the PM is told once; a push of a better one ends the pause.
func TestCrashes(t *testing.T) {
	tier.Full(t, "pauses that grow")
	t.Parallel()
	// A run is a long one from [bootstrap] check on, and that is the longest pause, too.
	s := newSite(t, library+"ok\nexit 1\n", `restarts = 3`, `check = "30s"`)
	s.start()
	s.awaitCount("SUCCESS main", 6)
	s.until("the PM is told", func() bool { return len(s.reports(comms.Guard)) > 0 })
	s.set(`check = "10m"`)
	s.kill()
	s.start()
	s.awaitCount("SUCCESS main", 10) // and now in a long pause, or soon
	s.main(steadily)
	s.until("the better one runs", func() bool {
		return len(s.agents()) == 1 && strings.Contains(s.read("main/remote/agent.sh"), "sleep 0.1")
	})
	if n := len(s.reports(comms.Guard)); n != 1 {
		t.Errorf("told %d times", n)
	}
	s.history()
	s.onlyOne()
}

// TestRollback: to any ref, pinned until main's code moves; what the tree held is
// kept on the remote (BOOT-4).
func TestRollback(t *testing.T) {
	t.Parallel()
	s := newSite(t, steadily+"# old\n")
	old := s.head()
	now := s.main(steadily + "# new\n")
	s.start()
	s.awaitLast(boot.Success, now)
	tree := filepath.Join(s.state, "main/remote")
	if err := os.WriteFile(filepath.Join(tree, "unsaved"), []byte("words\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.signal("rollback", old[:12])
	s.awaitLast(boot.Success, old)
	if e := last(s.history(), boot.Bootstrapping); e.Reason != "rollback to "+old[:12] {
		t.Errorf("%v", e)
	}
	rescued := strings.TrimSpace(s.Run(s.Bare, "git", "for-each-ref", "--format=%(refname:short)", "refs/heads/rescue"))
	if got := s.Run(s.Bare, "git", "show", rescued+":unsaved"); got != "words\n" {
		t.Errorf("%s holds %q", rescued, got)
	}
	s.endAgent() // it is pinned: a crash, and a new watcher, do not go to main
	s.awaitCount("SUCCESS main", 3)
	s.kill()
	s.start()
	s.awaitCount("SUCCESS main", 4)
	if e := last(s.history(), boot.Success); e.Commit != old {
		t.Errorf("%v", e)
	}
	if said := boot.RolledBack + now + " " + old + "\n"; strings.Count(s.out.String(), said) != 1 {
		t.Errorf("the host is told: %q", s.out.String())
	}
	told := s.reports(comms.Rollback)
	if len(told) != 1 || !strings.Contains(told[0].Raw, rescued) {
		t.Errorf("reports %+v", told)
	}
	next := s.main(steadily + "# next\n")
	s.endAgent()
	s.awaitLast(boot.Success, next)
	for _, bad := range []string{"refs/heads/nowhere", "0123456789", "HEAD"} {
		s.signal("rollback", bad)
		s.until("refused", func() bool {
			return strings.Contains(s.read("logs/bootstrap.log"), "rollback "+bad+": the repository has no such")
		})
	}
}

// TestOnce: a watcher that is to run once ends as the agent does, after its hops.
func TestOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, library+"ok\ntest -e ../../hopped && exit 5\ntouch ../../hopped\nsignal bootstrap agent/x\n")
	s.branch("agent/x", handover)
	s.start("--once")
	await.Exit(t, s.watcher)
	if code := s.watcher.ProcessState.ExitCode(); code != 5 {
		t.Errorf("exit %d", code)
	}
	want := []string{"BOOTSTRAPPING main", "SUCCESS main", "BOOTSTRAPPING agent/x", "SUCCESS agent/x", "BOOTSTRAPPING main", "SUCCESS main"}
	if !slices.Equal(s.events(), want) {
		t.Errorf("%v", s.events())
	}
	s.watcher = nil
}
