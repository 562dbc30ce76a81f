package bootstrap_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/tier"
	"git-ward/protocols/boot"
	"git-ward/protocols/comms"
)

// TestMalformedSignals: what an enemy may put in the place of a signal is removed
// and reported, and neither followed nor waited for.
func TestMalformedSignals(t *testing.T) {
	t.Parallel()
	s := newSite(t, library+"ok\nexec sleep 1000\n")
	s.start()
	s.await("SUCCESS main")
	agent := s.agent()
	// Made elsewhere and renamed, or the watcher would see it half made.
	path := filepath.Join(s.state, "signal-to-be")
	secret := filepath.Join(s.state, "secret")
	if err := os.WriteFile(secret, []byte("agent/x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n := 0
	for name, make := range map[string]func() error{
		"link":      func() error { return os.Symlink(secret, path) },
		"pipe":      func() error { return syscall.Mkfifo(path, 0o666) },
		"device":    func() error { return os.Symlink("/dev/zero", path) },
		"directory": func() error { return os.MkdirAll(path+"/a/b", 0o755) },
		"large":     func() error { return os.WriteFile(path, make10M(), 0o644) },
		"empty":     func() error { return os.WriteFile(path, nil, 0o644) },
		"lines":     func() error { return os.WriteFile(path, []byte("a\nb\n"), 0o644) },
		"option":    func() error { return os.WriteFile(path, []byte("--upload-pack=touch x\n"), 0o644) },
		"binary":    func() error { return os.WriteFile(path, []byte("a\x00b"), 0o644) },
	} {
		if err := errors.Join(make(), os.Rename(path, filepath.Join(s.state, ".signal/bootstrap"))); err != nil {
			t.Fatal(name, err)
		}
		n++
		s.until(name+" is removed and reported", func() bool {
			return s.missing(".signal/bootstrap") && strings.Count(s.read("logs/bootstrap.log"), "malformed signal bootstrap") == n
		})
	}
	if data, err := os.ReadFile(secret); err != nil || string(data) != "agent/x\n" {
		t.Errorf("the link's target: %q %v", data, err)
	}
	if now := s.agents(); !slices.Equal(now, []int{agent}) {
		t.Errorf("the agent was ended for it: %d, then %v", agent, now)
	}
	s.endAgent()
	s.until("the PM is told once", func() bool { return len(s.reports(comms.Guard)) == 1 })
}

func make10M() []byte { return make([]byte, 10<<20) }

// TestTwoSignals: the rollback goes first, and the other one is not forgotten
// silently.
func TestTwoSignals(t *testing.T) {
	t.Parallel()
	s := newSite(t, steadily)
	old := s.head()
	s.branch("agent/x", handover)
	now := s.main(steadily + "# new\n")
	s.start()
	s.awaitLast(boot.Success, now)
	s.kill()
	s.signal("bootstrap", "agent/x")
	s.signal("rollback", old)
	s.start()
	s.awaitLast(boot.Success, old)
	if list := s.history(); !slices.ContainsFunc(list, func(e boot.Entry) bool {
		return e.Event == boot.Failure && e.Branch == "agent/x" && strings.Contains(e.Reason, "came together with rollback")
	}) {
		t.Errorf("%v", list)
	}
	for _, name := range []string{".signal/bootstrap", ".signal/rollback", ".watcher/claimed-bootstrap", ".watcher/claimed-rollback"} {
		if !s.missing(name) {
			t.Errorf("%s is left", name)
		}
	}
}

// TestReset: a watcher that is told to forgets a pin, what it was asked for and what it
// told, and main is next; it says so.
func TestReset(t *testing.T) {
	tier.Full(t, "the first tier's minutes go to TestHop and TestKilledThere")
	t.Parallel()
	s := newSite(t, steadily)
	old := s.head()
	now := s.main(steadily + "# new\n")
	s.start()
	s.awaitLast(boot.Success, now)
	s.signal("rollback", old)
	s.awaitLast(boot.Success, old)
	s.signal("bootstrap", "a b")
	s.until("the report", func() bool { return len(s.reports(comms.Guard)) == 1 })
	s.kill()
	s.signal("rollback", old)
	s.start("--reset")
	s.until("main's code runs", func() bool { return strings.Contains(s.read("main/remote/agent.sh"), "# new") && len(s.agents()) == 1 })
	if text := s.err.String(); !strings.Contains(text, "reset: this is forgotten") || !strings.Contains(text, "pin=\""+old+" "+old) || !strings.Contains(text, "signals=1") {
		t.Error(text)
	}
	s.signal("bootstrap", "a b")
	s.until("it is told again", func() bool { return len(s.reports(comms.Guard)) == 2 })
}

// TestGuards: an agent that takes too much is ended, the PM is told once, and it
// is started again.
func TestGuards(t *testing.T) {
	tier.Full(t, "an agent that takes what it can, for seconds")
	t.Parallel()
	for name, c := range map[string]struct {
		agent   string
		setting []string
		want    string
	}{
		"cpu":      {"while :; do :; done", []string{`[guard] cpu = 0.05`, `cpu_window = "3s"`}, "processors for 3s without a pause"},
		"children": {"for i in 1 2 3; do (trap '' TERM; while :; do :; done) & done; wait", []string{`[guard] cpu = 0.05`, `cpu_window = "3s"`}, "processors for 3s"},
		"memory":   {`exec awk 'BEGIN { s = "0123456789abcdef"; while (length(s) < 300000000) s = s s; while (1) x++ }'`, []string{`[guard] memory = 200_000_000`}, "of memory, more than [guard] memory, 190 MiB"},
		"output":   {"yes this is a line of the log", []string{`logs = 67_108_864`}, "of logs, more than [guard] logs, 64 MiB"},
		"files":    {`head -c 100000000 /dev/zero >"$S/logs/own.log"; exec sleep 1000`, []string{`logs = 67_108_864`}, "of logs, more than [guard] logs, 64 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, library+"ok\nexec 9>&-\n"+c.agent+"\n", append(c.setting, `check = "10m"`)...)
			s.start()
			s.until("the PM is told", func() bool { return len(s.reports(comms.Guard)) > 0 })
			s.awaitCount("SUCCESS main", 3)
			if told := s.reports(comms.Guard); len(told) != 1 || !strings.Contains(told[0].Raw, c.want) {
				t.Errorf("%v", told)
			}
			if !strings.Contains(s.err.String(), "ended by a guard") {
				t.Error("the log does not say so")
			}
			if n := s.logsSize(); n > 150<<20 {
				t.Errorf("logs/ has %d bytes", n)
			}
			if n := len(s.err.String()); n > 2<<20 {
				t.Errorf("%d bytes went on to the launcher", n)
			}
			s.history()
		})
	}
}

// TestGuardOnADirective: a watcher that works on one directive ends with the agent that a guard
// ends, and not well, so that the launcher lets other directives go first.
func TestGuardOnADirective(t *testing.T) {
	tier.Full(t, "an agent that fills its logs")
	t.Parallel()
	s := newSite(t, library+"ok\nexec 9>&-\nhead -c 100000000 /dev/zero >\"$S/logs/own.log\"; exec sleep 1000\n", `logs = 67_108_864`, `check = "10m"`)
	s.start("--directive", "D-1")
	if err := await.Exit(t, s.watcher); err == nil {
		t.Error("it ended well")
	}
	s.watcher = nil
	if told := s.reports(comms.Guard); len(told) != 1 {
		t.Errorf("%v", told)
	}
	s.history()
}

// TestTenGigabytesOfLog is an agent that writes as much as it may, and then some.
func TestTenGigabytesOfLog(t *testing.T) {
	tier.Full(t, "ten gigabytes")
	if os.Getenv("WARD_BOOT_FLOOD") == "" {
		t.Skip("ten times the shipped limit of a gigabyte: WARD_BOOT_FLOOD=1 runs it; TestGuards has the small one")
	}
	s := newSite(t, library+"ok\nexec 9>&-\nhead -c 10000000000 /dev/zero | tr '\\0' x\n", `logs = 20_000_000_000`)
	s.start()
	s.awaitCount("SUCCESS main", 2)
	if n := s.logsSize(); n > 40<<20 {
		t.Errorf("logs/ has %d bytes", n)
	}
}

// TestFullDisk: on a full disk a hop fails with the reason in the log, the watcher
// lives on, and when there is room again main runs. In the fence, where the disk
// is the agent's own, the watcher makes the room itself (sandbox, TestWatcher).
func TestFullDisk(t *testing.T) {
	tier.Full(t, "it fills a disk")
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can mount a small disk")
	}
	s := newSite(t, library+"ok\n"+`while [ ! -e "$S/.signal/bootstrap" ]; do sleep 0.1; done; dd if=/dev/zero of="$S/fill" bs=64k 2>/dev/null; exit 0`+"\n")
	s.branch("agent/x", handover)
	noise := make([]byte, 6<<20) // more than the watcher's spare
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	s.Commit("noise", string(noise))
	s.Git("push", "--quiet", "origin", "agent/x")
	tip := s.head()
	if err := os.MkdirAll(s.state, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", s.state, "tmpfs", 0, "size=32m"); err != nil {
		t.Skip("SKIPPED: ", err)
	}
	t.Cleanup(func() { s.kill(); syscall.Unmount(s.state, syscall.MNT_DETACH) })
	s.start()
	s.await("SUCCESS main")
	s.signal("bootstrap", "agent/x")
	s.await("SUCCESS main", "FAILURE agent/x")
	i := slices.IndexFunc(s.history(), func(e boot.Entry) bool { return e.Event == boot.Failure })
	if f := s.history()[i]; f.Commit != tip || !strings.Contains(f.Reason, "git") {
		t.Errorf("%v", f)
	}
	os.Remove(filepath.Join(s.state, "fill"))
	s.await("SUCCESS main", "FAILURE agent/x", "BOOTSTRAPPING main", "SUCCESS main")
}

// TestClockJumps: a wall clock that jumps by years, back and forth, changes the
// times in the log and nothing else.
func TestClockJumps(t *testing.T) {
	tier.Full(t, "the first tier's minutes go to TestHop and TestKilledThere")
	t.Parallel()
	s := newSite(t, steadily)
	tip := s.branch("agent/x", handover)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Dir(s.binary)
	s.binary, s.env = self, []string{jumpVar + "=1"}
	s.start("--agent", filepath.Join(bin, "ward-agent"))
	s.await("SUCCESS main")
	s.signal("bootstrap", "agent/x")
	s.await("BOOTSTRAPPING agent/x", "SUCCESS agent/x", "BOOTSTRAPPING main", "SUCCESS main")
	if e := s.history(); e[2].Commit != tip {
		t.Errorf("%v", e)
	}
	s.kill()
	s.start("--agent", filepath.Join(bin, "ward-agent"))
	s.awaitCount("SUCCESS main", 3)
}

// TestKills kills the agent, the watcher, or both at any moment of a hop, again
// and again. After each kill the system comes to main, the log tells the truth of
// every start, and never do two agents run.
func TestKills(t *testing.T) {
	tier.Full(t, "kills at random moments")
	t.Parallel()
	rounds := 12
	if text := os.Getenv("WARD_BOOT_KILLS"); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	random := rand.New(rand.NewPCG(tier.Seed(t), 7))
	s := newSite(t, steadily, `build = ["sh", "-c", "echo built >>../../../builds"]`, `validate = ["sh", "-c", "sleep 0.05"]`)
	main := s.head()
	good := s.branch("agent/good", handover)
	bad := s.branch("agent/bad", library+"sleep 0.1 9>&-; exit 1\n")
	s.Run(s.Bare, "git", "update-ref", "refs/ward/last-good", main)
	s.start()
	s.await("SUCCESS main")
	for round := range rounds {
		signals := [][2]string{{"bootstrap", "agent/good"}, {"bootstrap", "agent/bad"}, {"rollback", main}, {"bootstrap", "main"}}
		if random.IntN(4) > 0 {
			signal := signals[random.IntN(len(signals))]
			s.signal(signal[0], signal[1])
		}
		for range 1 + random.IntN(3) { // any moment: that is the test
			time.Sleep(time.Duration(random.IntN(700)) * time.Millisecond) // any moment
			victim := random.IntN(3)
			if victim != 1 {
				s.endAgent()
			}
			if victim != 0 {
				s.kill()
				s.start()
			}
		}
		t.Run(fmt.Sprint("settle ", round), s.settles) // with a bound of its own
		for _, e := range s.history() {
			if e.Event == boot.Bootstrapping && !slices.Contains([]string{good, bad}, e.Commit) && e.Branch != boot.Main {
				t.Errorf("round %d: %v", round, e)
			}
		}
	}
	s.onlyOne()
	s.Run(s.Bare, "git-ward", "fsck", "--repair") // the last kill may have hit a push, whose record the next one makes
	s.Fsck()
}

// settles waits until main runs, no signal waits, and the log ends in its SUCCESS.
func (s *site) settles(t *testing.T) {
	await.True(t, "main runs after this round", func() bool {
		e := s.events()
		return len(e) > 0 && e[len(e)-1] == "SUCCESS main" && len(s.agents()) == 1 &&
			s.missing(".signal/bootstrap") && s.missing(".signal/rollback") && !strings.Contains(s.read(".watcher/state.json"), `"hop"`)
	})
}
