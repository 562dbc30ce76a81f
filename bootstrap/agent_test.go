package bootstrap_test

import (
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/configtest"
	"git-ward/internal/modeltest"
	"git-ward/internal/tier"
	"git-ward/protocols/comms"
)

// directive pushes a directive and the script model's turns for it (modeltest.Turns).
func (s *site) directive(title, turns string) {
	s.T.Helper()
	s.set(`check = "10m"`) // so long may an agent be silent before the host ends it, which a busy machine's is for seconds
	script, err := modeltest.Turns(turns)
	if err != nil {
		s.T.Fatal(err)
	}
	s.Git("fetch", "--quiet")
	s.Git("checkout", "--quiet", "-B", "main", "origin/main")
	text, err := os.ReadFile(filepath.Join(s.Work, "COMMS.md"))
	if err != nil {
		s.T.Fatal(err)
	}
	s.Write("script.jsonl", script)
	s.Write("COMMS.md", strings.Replace(string(text), "## Directives\n", "## Directives\n\n### "+title+"\n\nImprove yourself.\n\n- [ ] it is better (`test -e better.txt`)\n- work: better.txt, agent.sh\n", 1))
	s.Git("add", "--all")
	s.Git("commit", "--quiet", "-m", title)
	s.Git("push", "--quiet", "origin", "main")
}

// launch runs the whole of it until no directive is open: the door, by which the
// agent is the agent, and the watcher behind it.
func (s *site) launch() {
	s.T.Helper()
	out, err := s.Try(s.Work, nil, "", "git-ward", "launch", "--unfenced", "--once", "--bare", s.Bare, "--state", s.state, "--model", "script")
	io.WriteString(&s.err, out)
	if err != nil {
		s.T.Errorf("launch: %v", err)
	}
}

const improve = `
turn
write_file better.txt
| better
bash git add -A; git commit -qm better; git push -q

turn
bash git push -q
bootstrap agent/{directive}

turn
say It is better, and it was started.
`

// TestRealAgent is a hop of Ward's own agent: from main it improves a branch, runs
// from there, says that it is ready to be merged, and from main again ends the
// directive (BOOT-3).
func TestRealAgent(t *testing.T) {
	tier.Full(t, "launches and verdicts of the real agent")
	t.Parallel()
	s := newSite(t, steadily, `run = []`)
	s.directive("D-1: better", improve)
	s.launch()
	want := []string{"BOOTSTRAPPING main", "SUCCESS main", "BOOTSTRAPPING agent/D-1", "SUCCESS agent/D-1", "BOOTSTRAPPING main", "SUCCESS main"}
	if !slices.Equal(s.events(), want) {
		t.Errorf("%v", s.events())
	}
	s.history()
	info, done := s.reports(comms.Info), s.reports(comms.ExitConverged)
	if len(info) != 1 || info[0].Directive != "D-1" || !strings.Contains(info[0].Raw, "Ready to merge: agent/D-1, commit ") || !strings.Contains(info[0].Raw, "agent_merge is off") {
		t.Errorf("%+v", info)
	}
	if len(done) != 1 || done[0].Directive != "D-1" {
		t.Errorf("%+v", done)
	}
	s.Fsck()
}

// TestRealAgentFails: an upgrade that does not start is not tried for ever, and
// the directive comes to its end from main.
func TestRealAgentFails(t *testing.T) {
	tier.Full(t, "launches and verdicts of the real agent")
	t.Parallel()
	s := newSite(t, steadily, `run = []`, `validate = ["sh", "-c", "! test -e better.txt"]`)
	s.directive("D-1: worse", improve)
	s.launch()
	failures := 0
	for _, e := range s.events() {
		if e == "FAILURE agent/D-1" {
			failures++
		}
	}
	if failures != 3 || len(s.reports(comms.ExitConverged)) != 1 || len(s.reports(comms.Fallback)) != 1 {
		t.Errorf("%d failures; %v %v", failures, s.reports(comms.ExitConverged), s.reports(comms.Fallback))
	}
	s.history()
}

// shipped is an agent whose program comes from the tree: Ward's own, by a script.
const shipped = "echo version 1\nexec ward-agent \"$@\"\n"

// mergers makes the agent merge what has a verdict. A launch without a fence has
// verdicts that by themselves open nothing.
func (s *site) mergers() {
	s.T.Helper()
	configtest.Set(s.T, s.Bare, "agent_merge = true", "unfenced_merge = true")
}

func (s *site) show(rev string) string {
	s.T.Helper()
	return s.Run(s.Bare, "git", "show", rev)
}

// TestHopMerges is the whole of a hop-scotch: the agent on main asks for its
// branch; the one on the branch claims, gets its verdict, merges, and main starts
// anew from the merge (BOOT-3).
func TestHopMerges(t *testing.T) {
	tier.Full(t, "launches and verdicts of the real agent")
	t.Parallel()
	for name, script := range map[string]string{
		// by the tool, in the middle of an iteration
		"asked": `
turn iteration=0
bash echo better >better.txt; sed -i s/1/2/ agent.sh; git add -A; git commit -qm better; git push -q
bootstrap agent/{directive}

turn
say never said
`,
		// by itself, before the merge
		"not asked": `
turn iteration=0
bash echo better >better.txt; sed -i s/1/2/ agent.sh

turn
say It is better.
`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, shipped, `run = ["sh", "agent.sh"]`, `validate = ["sh", "-n", "agent.sh"]`, `probation = true`)
			s.mergers()
			s.directive("D-1: better", script)
			s.launch()
			want := []string{"BOOTSTRAPPING main", "SUCCESS main", "BOOTSTRAPPING agent/D-1", "SUCCESS agent/D-1", "BOOTSTRAPPING main", "SUCCESS main"}
			if !slices.Equal(s.events(), want) {
				t.Errorf("%v", s.events())
			}
			s.history()
			done := s.reports(comms.ExitConverged)
			if len(done) != 1 || !strings.Contains(done[0].Raw, "It is in main.") || len(s.reports(comms.Info)) != 0 {
				t.Errorf("%v %v", done, s.reports(comms.Info))
			}
			if got := s.show("main:agent.sh"); got != strings.Replace(shipped, "1", "2", 1) {
				t.Errorf("main has %q", got)
			}
			if log := s.read("logs/errors.log"); !strings.Contains(log, "version 2") || strings.Count(log, " probation of ") != 2 {
				t.Errorf("the new program did not run, or main's and its probation, once each, did not:\n%s", log)
			}
			branch := strings.TrimSpace(s.Run(s.Bare, "git", "rev-parse", "agent/D-1"))
			verdicts := ""
			for commit := range strings.FieldsSeq(s.Run(s.Bare, "git", "rev-list", branch)) {
				out, _ := s.Try(s.Bare, nil, "", "git", "notes", "--ref=certificates", "show", commit)
				verdicts += out
			}
			if !strings.Contains(verdicts, "sh -n agent.sh") {
				t.Errorf("validate is no part of the verdict: %s", verdicts)
			}
			if !s.missing(".aside") || !s.missing("agent/D-1") {
				t.Error("a tree was left")
			}
			s.Fsck()
		})
	}
}

// TestHopProves: also where only the PM merges, a claim holds when its program has
// passed a probation, and not before (BOOT-3).
func TestHopProves(t *testing.T) {
	tier.Full(t, "launches and verdicts of the real agent")
	t.Parallel()
	for name, c := range map[string]struct {
		lame   string
		start  []string
		status comms.Status
		says   string
	}{
		"works":    {"true", []string{"BOOTSTRAPPING agent/D-1", "SUCCESS agent/D-1"}, comms.ExitConverged, ""},
		"does not": {`sed -i '1i case "$*" in *.probation*) exit 9 ;; esac' agent.sh`, []string{"FAILURE agent/D-1"}, comms.ExitBlocked, "has passed no probation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, shipped, `run = ["sh", "agent.sh"]`, `validate = ["sh", "-n", "agent.sh"]`, `probation = true`)
			s.directive("D-1: better", `
turn iteration=0
bash echo better >better.txt; sed -i s/1/2/ agent.sh; `+c.lame+`

turn
say It is better.
`)
			s.launch()
			of := []string{"BOOTSTRAPPING main", "SUCCESS main"}
			if want := slices.Concat(of, c.start, of); !slices.Equal(s.events(), want) {
				t.Errorf("%v", s.events())
			}
			if done := s.reports(c.status); len(done) != 1 || !strings.Contains(done[0].Raw, c.says) {
				t.Errorf("%v", done)
			}
			s.Fsck()
		})
	}
}

// TestHopCrashes: a certified program that does not start is not merged.
func TestHopCrashes(t *testing.T) {
	tier.Full(t, "launches and verdicts of the real agent")
	t.Parallel()
	s := newSite(t, shipped, `run = ["sh", "agent.sh"]`, `validate = ["sh", "-n", "agent.sh"]`)
	s.mergers()
	main := s.show("main:agent.sh")
	s.directive("D-1: better", `
turn iteration=0
bash echo better >better.txt; echo echo no such luck, exit 9 >agent.sh; echo exit 9 >>agent.sh

turn
say It is better.
`)
	s.launch()
	want := []string{"BOOTSTRAPPING main", "SUCCESS main", "BOOTSTRAPPING agent/D-1", "FAILURE agent/D-1", "BOOTSTRAPPING main", "SUCCESS main"}
	if !slices.Equal(s.events(), want) {
		t.Errorf("%v", s.events())
	}
	s.history()
	done := s.reports(comms.ExitBlocked)
	if len(done) != 1 || !strings.Contains(done[0].Raw, "its program did not start from agent/D-1: exit 9") || !strings.Contains(done[0].Raw, "Next: git ward directive edit D-1 (") || len(s.reports(comms.Fallback)) != 1 {
		t.Errorf("%v %v", done, s.reports(comms.Fallback))
	}
	if got := s.show("main:agent.sh"); got != main {
		t.Errorf("main has %q", got)
	}
	s.Fsck()
}

// TestHopOpen: a branch that is started and not certified is not merged, and main
// goes on with it.
func TestHopOpen(t *testing.T) {
	tier.Full(t, "launches and verdicts of the real agent")
	t.Parallel()
	s := newSite(t, shipped, `run = ["sh", "agent.sh"]`)
	s.mergers()
	s.directive("D-1: better", `
turn iteration=0
bash sed -i s/1/2/ agent.sh; git add -A; git commit -qm better; git push -q
bootstrap agent/{directive}

turn iteration=1
bash echo better >better.txt

turn
say It is better.
`)
	s.launch()
	want := []string{"BOOTSTRAPPING main", "SUCCESS main", "BOOTSTRAPPING agent/D-1", "SUCCESS agent/D-1", "BOOTSTRAPPING main", "SUCCESS main",
		"BOOTSTRAPPING agent/D-1", "SUCCESS agent/D-1", "BOOTSTRAPPING main", "SUCCESS main"}
	if !slices.Equal(s.events(), want) {
		t.Errorf("%v", s.events())
	}
	done := s.reports(comms.ExitConverged)
	if len(done) != 1 || !strings.Contains(done[0].Raw, "It is in main.") {
		t.Errorf("%v", done)
	}
	s.Fsck()
}

// TestMergedUpgrade: when the PM merges, an agent whose program comes from the
// tree starts anew from main.
func TestMergedUpgrade(t *testing.T) {
	tier.Full(t, "the first tier's minutes go to TestHop and TestKilledThere")
	t.Parallel()
	bin := filepath.Join(filepath.Dir(newSite(t, steadily).binary), "ward-agent")
	s := newSite(t, steadily, `run = ["`+bin+`"]`)
	old := s.head()
	s.start("--model", "script")
	s.await("SUCCESS main")
	now := s.main(steadily + "# merged\n")
	s.await("SUCCESS main", "BOOTSTRAPPING main", "SUCCESS main")
	if e := s.history(); e[0].Commit != old || e[2].Commit != now {
		t.Errorf("%v", e)
	}
}

// TestHopKills kills the agent, or launcher and all, at any moment of a real hop.
// However often that was, the work is merged once, reported once, and nothing but
// what was certified is in main.
func TestHopKills(t *testing.T) {
	tier.Full(t, "kills at random moments")
	t.Parallel()
	random := rand.New(rand.NewPCG(tier.Seed(t), 8))
	s := newSite(t, shipped, `run = ["sh", "agent.sh"]`, `validate = ["sh", "-n", "agent.sh"]`)
	s.mergers()
	s.directive("D-1: better", `
turn
bash echo better >better.txt; sed -i s/1/2/ agent.sh; git add -A; git commit -qm better; git push -q
bootstrap agent/{directive}

turn
say It is better.
`)
	for range 12 {
		launch := s.Command(s.Work, nil, "git-ward", "launch", "--unfenced", "--once", "--bare", s.Bare, "--state", s.state, "--model", "script")
		launch.Stdout, launch.Stderr = &s.err, &s.err
		launch.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := launch.Start(); err != nil {
			t.Fatal(err)
		}
		for range random.IntN(3) { // any moment: that is the test
			time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond) // any moment: that is the test
			for _, pid := range s.agents() {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond) // any moment: that is the test
		launch.Process.Kill()
		await.Exit(t, launch)
		if len(s.reports(comms.ExitConverged)) > 0 {
			break
		}
	}
	s.launch()
	s.history()
	done := s.reports(comms.ExitConverged)
	if len(done) != 1 || !strings.Contains(done[0].Raw, "It is in main.") {
		t.Errorf("%v", done)
	}
	if got := s.show("main:agent.sh"); got != strings.Replace(shipped, "1", "2", 1) {
		t.Errorf("main has %q", got)
	}
	if n := strings.Count(s.Run(s.Bare, "git", "log", "--format=%s", "main"), "better"); n == 0 {
		t.Error("the work is not in main's history")
	}
	s.Fsck()
}
