package bootstrap

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ward/protocols/comms"
)

// directive pushes a directive and the script model's lines for it.
func (s *site) directive(title, script string) {
	s.T.Helper()
	s.Git("fetch", "--quiet")
	s.Git("checkout", "--quiet", "-B", "main", "origin/main")
	text, err := os.ReadFile(filepath.Join(s.Work, "COMMS.md"))
	if err != nil {
		s.T.Fatal(err)
	}
	s.Write("script.jsonl", script)
	s.Write("COMMS.md", strings.Replace(string(text), "## Directives\n", "## Directives\n\n### "+title+"\n\nImprove yourself.\n\n- [ ] it is better (`test -e better.txt`)\n", 1))
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

const improve = `{"calls":[{"name":"write_file","args":{"path":"better.txt","content":"better\n"}},{"name":"bash","args":{"command":"git add -A; git commit -qm better; git push -q"}}]}
{"calls":[{"name":"bash","args":{"command":"git push -q"}},{"name":"bootstrap","args":{"branch":"agent/{directive}"}}]}
{"text":"It is better, and it was started."}
`

// TestRealAgent is a hop of Ward's own agent: from main it improves a branch, runs
// from there, says that it is ready to be merged, and from main again ends the
// directive (BOOT-3).
func TestRealAgent(t *testing.T) {
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
	t.Parallel()
	s := newSite(t, steadily, `run = []`, `check = "10m"`, `validate = ["sh", "-c", "! test -e better.txt"]`)
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

// TestMergedUpgrade: when the PM merges, an agent whose program comes from the
// tree starts anew from main.
func TestMergedUpgrade(t *testing.T) {
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
