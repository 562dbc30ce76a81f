package bootstrap_test

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/failpoint"
	"git-ward/protocols/boot"
	"git-ward/protocols/comms"
)

// TestKilledThere kills the watcher at each point of a hop where what it wrote down
// and what it did differ. The next one brings the system to where it belongs, the log
// tells the truth of every start, and the PM is told once. The first pass of most points
// is main's own start.
func TestKilledThere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		point, signal string // of bootstrap, but for a commit
		want          []string
	}{
		{"bootstrap/accepted", "agent/good", hopped},
		{"bootstrap/prepared#2", "agent/good", hopped},
		{"bootstrap/begun#2", "agent/good", slices.Concat(fallen[:2], hopped)},
		{"bootstrap/started", "agent/good", fallen},
		{"bootstrap/booted#2", "agent/good", hopped},
		{"bootstrap/begun#3", "agent/good", slices.Concat(hopped[:3], []string{"FAILURE main"}, hopped[2:])},
		{"bootstrap/failed", "agent/bad", fallen},
		{"bootstrap/told", "agent/bad", fallen},
		{"bootstrap/answered#2", "", []string{"BOOTSTRAPPING main", "FAILURE main", "BOOTSTRAPPING main", "SUCCESS main"}},
		{"bootstrap/booted#2", "", []string{"BOOTSTRAPPING main", "SUCCESS main", "BOOTSTRAPPING main", "SUCCESS main"}},
	} {
		t.Run(strings.TrimPrefix(c.point, "bootstrap/")+" "+c.signal, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, steadily)
			old := s.head()
			want := []string{"BOOTSTRAPPING main", "SUCCESS main"}
			switch c.signal {
			case "agent/good":
				s.branch(c.signal, handover)
			case "agent/bad":
				s.branch(c.signal, library+"exit 1\n")
			default:
				s.main(steadily + "# new\n")
			}
			for _, e := range c.want {
				want = append(want, strings.ReplaceAll(e, "agent/x", c.signal))
			}
			s.env = []string{failpoint.Var + "=" + c.point + "=kill"}
			s.start()
			s.await("SUCCESS main")
			if c.signal == "" {
				s.signal("rollback", old)
			} else {
				s.signal("bootstrap", c.signal)
			}
			s.killedItself()
			s.env = nil
			s.start()
			s.until("what was asked for is done", func() bool {
				return slices.Equal(s.events(), want) && len(s.agents()) == 1 && s.missing(".signal/bootstrap") && !strings.Contains(s.read(".watcher/state.json"), `"hop"`)
			})
			s.history()
			s.onlyOne()
			told := map[bool]comms.Status{true: comms.Fallback, false: comms.Rollback}[slices.Contains(want, "FAILURE "+cmp.Or(c.signal, "main"))]
			if (c.signal == "" || told == comms.Fallback) && !slices.Contains(want, "SUCCESS "+c.signal) {
				s.until("the PM is told once", func() bool { return len(s.reports(told)) == 1 })
			}
			if e := last(s.history(), boot.Success); c.signal == "" && (e.Commit == old) != (told == comms.Rollback) {
				t.Errorf("%v", e)
			}
		})
	}
}

// TestLostLog: where the log does not have the start that a watcher was killed in, the PM
// is told so.
func TestLostLog(t *testing.T) {
	t.Parallel()
	s := newSite(t, steadily)
	s.branch("agent/good", handover)
	s.env = []string{failpoint.Var + "=bootstrap/started=kill"}
	s.start()
	s.await("SUCCESS main")
	s.signal("bootstrap", "agent/good")
	s.killedItself()
	if err := os.Remove(filepath.Join(s.state, "logs/bootstrap.log")); err != nil {
		t.Fatal(err)
	}
	s.env = nil
	s.start()
	s.until("the PM is told", func() bool { return len(s.reports(comms.Fallback)) == 1 })
	if raw := s.reports(comms.Fallback)[0].Raw; !strings.Contains(raw, "logs/bootstrap.log does not say what became of that start.") {
		t.Error(raw)
	}
}

// hopped and fallen are a hop to agent/x that came to its end, and one that did not.
var (
	hopped = []string{"BOOTSTRAPPING agent/x", "SUCCESS agent/x", "BOOTSTRAPPING main", "SUCCESS main"}
	fallen = []string{"BOOTSTRAPPING agent/x", "FAILURE agent/x", "BOOTSTRAPPING main", "SUCCESS main"}
)

// killedItself waits for a watcher's end at its failpoint.
func (s *site) killedItself() {
	s.T.Helper()
	err := await.Exit(s.T, s.watcher)
	exit, ok := err.(*exec.ExitError)
	if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		s.T.Fatalf("the watcher ended by itself: %v", err)
	}
	s.watcher = nil
}
