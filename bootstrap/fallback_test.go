package bootstrap_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/failpoint"
	"git-ward/internal/tier"
	"git-ward/protocols/boot"
	"git-ward/protocols/comms"
)

// dies answers that it is up, and ends.
const dies = library + "ok\nexit 1\n"

// held writes down what the host would: the programs that held, the last one first.
func (s *site) held(commits ...string) {
	s.T.Helper()
	for i, commit := range commits {
		s.Run(s.Bare, "git", "update-ref", boot.GoodRef(i), commit)
	}
}

// TestDies: a main that answers SUCCESS and then dies, again and again, gives way to the
// program that held before, and that to the one before it. It is said once for each, to
// the host and to the PM, and the watcher's end in between does not begin the count anew.
func TestDies(t *testing.T) {
	t.Parallel()
	s := newSite(t, steadily, `check = "10m"`)
	first := s.head()
	second := s.main(dies + "# second\n")
	last := s.main(dies)
	s.held(last, second, first)
	s.env = []string{failpoint.Var + "=bootstrap/booted#3=kill"}
	s.start()
	s.killedItself()
	s.env = nil
	s.start()
	s.awaitLast(boot.Success, first)
	var went []string // the programs: a report moves main, and not its program
	for _, e := range s.history() {
		if program := s.show(e.Commit + ":agent.sh"); len(went) == 0 || went[len(went)-1] != program {
			went = append(went, program)
		}
	}
	if want := []string{dies, dies + "# second\n", steadily}; !slices.Equal(went, want) {
		t.Errorf("it ran %q, want %q", went, want)
	}
	if n := len(s.history()); n > 2*(3+1+3+1) { // the run that the watcher was killed in does not count
		t.Errorf("%d lines: %v", n, s.history())
	}
	_, fell, _ := strings.Cut(s.out.String(), boot.FellBack)
	if commit, _, _ := strings.Cut(fell, "\n"); strings.Contains(fell, boot.FellBack) || s.show(commit+":agent.sh") != dies {
		t.Errorf("%q", s.out.String())
	}
	s.until("the PM is told of both", func() bool { return len(s.reports(comms.Fallback)) == 2 })
	for _, told := range s.reports(comms.Fallback) {
		if !strings.Contains(told.Raw, "The agent ended again and again from main, commit ") {
			t.Error(told.Raw)
		}
	}
	s.main(steadily + "# mended\n")
	s.endAgent()
	s.awaitRun(steadily + "# mended\n")
	s.onlyOne()
}

// TestDiesWithASignal: a main that writes a signal before it dies, which leads back to it or
// nowhere, was not asked to.
func TestDiesWithASignal(t *testing.T) {
	t.Parallel()
	for name, asks := range map[string]string{
		"to main":               "signal bootstrap main",
		"to a branch like main": `signal bootstrap agent/same; [ "$WARD_BRANCH" = main ] || signal bootstrap main`,
		"to no branch":          "signal bootstrap agent/none",
		"to no name":            `echo a b c >"$S/.signal/bootstrap"`,
		"back to itself":        `signal rollback "$WARD_COMMIT"`,
		"back to nothing":       "signal rollback refs/heads/none",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, steadily, `check = "10m"`)
			first := s.head()
			bad := s.main(library + "ok\n" + asks + "\nexit 1\n")
			s.Git("push", "--quiet", "origin", "HEAD:agent/same")
			s.held(bad, first)
			s.start()
			s.awaitLast(boot.Success, first)
			if n := strings.Count(s.read("logs/bootstrap.log"), "BOOTSTRAPPING main"); n > 3+1 {
				t.Errorf("%d starts", n)
			}
			s.until("the PM is told", func() bool { return len(s.reports(comms.Fallback)) > 0 })
			s.onlyOne()
		})
	}
}

// TestDiesAlone: where no earlier program is left, main is tried again and again.
func TestDiesAlone(t *testing.T) {
	tier.Full(t, "the first tier's minutes go to TestDies")
	t.Parallel()
	s := newSite(t, dies, `check = "10m"`)
	s.held(s.head())
	s.start()
	s.awaitCount("SUCCESS main", 5)
	if told := s.reports(comms.Fallback); len(told) > 0 {
		t.Error(told)
	}
}

// runs is how often main's program was so when it started: a report moves main, and not its
// program.
func (s *site) runs(program string) (n int) {
	s.T.Helper()
	for _, e := range entries(s) {
		if e.Event == boot.Success && e.Branch == boot.Main && s.show(e.Commit+":agent.sh") == program {
			n++
		}
	}
	return n
}

// awaitRun waits until main's program is so and has started.
func (s *site) awaitRun(program string) {
	s.T.Helper()
	s.until("another program of main's", func() bool { return s.runs(program) > 0 })
}

// TestDiesOnADirective: a watcher that works on one directive, as each in a container does, ends
// no sooner than it knows whether main dies again and again: the next one may be another slot's,
// or have lost its state with the container. For that the host's word counts, until main's code
// moves.
func TestDiesOnADirective(t *testing.T) {
	t.Parallel()
	s := newSite(t, steadily, `check = "10m"`)
	first := s.head()
	bad := s.main(dies)
	s.held(bad, first)
	s.start("--directive", "D-1")
	s.awaitLast(boot.Success, first)
	if n := s.runs(dies); n != 3 {
		t.Errorf("%d starts of what dies: %v", n, s.history())
	}
	s.until("the host is told", func() bool { return strings.Contains(s.out.String(), boot.FellBack) })
	s.kill()
	s.state += "-of-another"
	s.Run(s.Bare, "git", "update-ref", boot.Fallen, bad)
	s.start("--directive", "D-2")
	s.awaitLast(boot.Success, first)
	s.endAgent() // it is no death of main's
	s.awaitCount("SUCCESS main", 2)
	s.branch("agent/x", handover)
	s.signal("bootstrap", "agent/x")
	s.await("SUCCESS agent/x", "SUCCESS main")
	s.main(steadily + "# mended\n")
	s.endAgent()
	s.awaitRun(steadily + "# mended\n")
	if n := s.runs(dies); n != 0 {
		t.Errorf("what gave way was started: %v", s.history())
	}
	s.onlyOne()
}

// TestDiesWhereAllDo: where the earlier programs die, too, main is not to blame: the watcher says
// so, and ends where it has one directive.
func TestDiesWhereAllDo(t *testing.T) {
	t.Parallel()
	s := newSite(t, dies, `check = "10m"`)
	first := s.head()
	bad := s.main(dies + "# later\n")
	s.held(first)
	s.Run(s.Bare, "git", "update-ref", boot.Fallen, bad)
	s.start("--directive", "D-1")
	await.Exit(t, s.watcher)
	s.watcher = nil
	if out, want := s.told(), strings.Repeat(boot.Booted+first+"\n", 3)+boot.Again+bad+"\n"; out != want {
		t.Errorf("%q, want %q", out, want)
	}
}

// TestDiesEachSecondTime: a good end after each death makes no program one that holds.
func TestDiesEachSecondTime(t *testing.T) {
	t.Parallel()
	s := newSite(t, steadily, `check = "10m"`)
	first := s.head()
	second := library + "ok\nif [ -e \"$S/died\" ]; then rm \"$S/died\"; exit 0; fi\ntouch \"$S/died\"\nexit 1\n"
	s.held(s.main(second), first)
	for range 4 { // a death and a good end each
		s.start("--directive", "D-1")
		await.Exit(t, s.watcher)
		s.watcher = nil
	}
	s.start("--directive", "D-1")
	s.awaitLast(boot.Success, first)
	if n := s.runs(second); n != 9 {
		t.Errorf("it gave way after %d runs", n)
	}
}

// TestDiesForAHop: a main that asks for a branch that does not start, and dies, is not excused
// by it, nor is one that ends well and asks again and again.
func TestDiesForAHop(t *testing.T) {
	t.Parallel()
	testDiesForAHop(t, "exit 1\n", 3)
}

// TestHopsInVain is TestDiesForAHop where main ends well.
func TestHopsInVain(t *testing.T) {
	tier.Full(t, "it waits for pauses")
	t.Parallel()
	testDiesForAHop(t, "exit 0\n", 6)
}

func testDiesForAHop(t *testing.T, end string, want int) {
	s := newSite(t, steadily, `check = "10m"`)
	first := s.head()
	s.branch("agent/x", "exit 7\n")
	asks := library + "ok\nsignal bootstrap agent/x\n" + end
	s.held(s.main(asks), first)
	s.start("--directive", "D-1")
	s.awaitLast(boot.Success, first)
	if n := s.runs(asks); n != want {
		t.Errorf("%d starts", n)
	}
	s.onlyOne()
}

// TestHopsThatStart: a main that asked for what started has not died, however it ended.
func TestHopsThatStart(t *testing.T) {
	tier.Full(t, "it waits for pauses")
	t.Parallel()
	s := newSite(t, steadily, `check = "10m"`)
	first := s.head()
	s.branch("agent/x", handover)
	s.held(s.main(library+"ok\n[ $(grep -c 'SUCCESS agent/x' \"$WARD_BOOT_LOG\") -lt 3 ] || exec sleep 100000 9>&-\nsignal bootstrap agent/x\nexit 1\n"), first)
	s.start("--directive", "D-1")
	s.awaitCount("SUCCESS main", 4)
	if strings.Contains(s.out.String(), boot.FellBack) {
		t.Errorf("%q", s.out.String())
	}
}

// TestToldToEnd: a main that ended because its watcher was told to has not died.
func TestToldToEnd(t *testing.T) {
	t.Parallel()
	s := newSite(t, steadily, `check = "10m"`)
	first := s.head()
	now := s.main(steadily + "# now\n")
	s.held(now, first)
	for n := range 2 {
		s.start("--directive", "D-1")
		s.awaitCount("SUCCESS main", n+1)
		s.watcher.Process.Signal(syscall.SIGTERM)
		await.Exit(t, s.watcher)
		s.watcher = nil
	}
	s.start("--directive", "D-1")
	s.awaitCount("SUCCESS main", 3)
	s.endAgent() // its only death
	s.awaitCount("SUCCESS main", 4)
	if n := s.runs(steadily + "# now\n"); n != 4 {
		t.Errorf("it ran %d times: %v", n, s.history())
	}
}

// TestDiesByAGuard: a main that a guard ended for what it took itself has died, however late that
// was; for what it ran, as a directive's build, it has not, however soon.
func TestDiesByAGuard(t *testing.T) {
	tier.Full(t, "it takes memory, and waits for the guard's looks")
	t.Parallel()
	const hog = `awk 'BEGIN { s = "0123456789abcdef"; while (length(s) < 300000000) s = s s; while (1) x++ }'` + "\n"
	for name, c := range map[string]struct {
		agent, check string
		gives        bool
	}{
		"itself, late":      {"sleep 2 9>&-\nexec 9>&-\nexec " + hog, "1s", true},
		"what it ran":       {"(exec 9>&-; exec " + strings.TrimSpace(hog) + ") & wait\n", "10m", false},
		"what it ran, late": {"sleep 2 9>&-\n(exec 9>&-; exec " + strings.TrimSpace(hog) + ") & wait\n", "1s", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, steadily, `[guard] memory = 200_000_000`, `check = "`+c.check+`"`)
			first := s.head()
			bad := library + "ok\n" + c.agent
			s.held(s.main(bad), first)
			s.start("--directive", "D-1")
			if c.gives {
				s.awaitLast(boot.Success, first)
			} else {
				for range 3 { // the launcher starts the next
					await.Exit(t, s.watcher)
					s.start("--directive", "D-1")
				}
				s.until("four starts of main", func() bool { return s.runs(bad) == 4 })
			}
			if n := s.runs(bad); c.gives != strings.Contains(s.out.String(), boot.FellBack) || c.gives && n != 3 {
				t.Errorf("%d starts, and it said %q", n, s.out.String())
			}
		})
	}
}
