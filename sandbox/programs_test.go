package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/configtest"
	"git-ward/internal/live"
	"git-ward/internal/modeltest"
	"git-ward/internal/runstate"
	"git-ward/internal/tier"
)

// TestPrograms is a directive from push to certificate and merge by each real agent
// program in the fence, without any route out: it reaches a model, which the stand-in plays,
// by the gateway alone, and its repository by the door.
func TestPrograms(t *testing.T) {
	tier.Full(t, "real command-line agents, in containers")
	for _, c := range programs {
		t.Run(c.name+" "+c.id, func(t *testing.T) { works(t, c.name, modeltest.Install(t, c.pkg), c.id) })
	}
}

// TestReleases is the same by earlier releases.
func TestReleases(t *testing.T) {
	tier.Full(t, "earlier releases of real command-line agents, in containers")
	if os.Getenv("WARD_RELEASES") == "" {
		t.Skip("SKIPPED: earlier releases take half an hour and gigabytes; WARD_RELEASES=yes tries them")
	}
	for _, c := range programs {
		for _, release := range modeltest.Releases(c.pkg)[1:] {
			t.Run(c.name+" "+release+" "+c.id, func(t *testing.T) {
				works(t, c.name, modeltest.InstallRelease(t, c.pkg, release), c.id)
			})
		}
	}
}

// programs are the real agents, each with a model that is named and, where it has one, its own.
var programs = []struct{ name, pkg, id string }{
	{"claude-code", "@anthropic-ai/claude-code", "claude-test"},
	{"claude-code", "@anthropic-ai/claude-code", ""},
	{"codex", "@openai/codex", "gpt-test"},
	{"codex", "@openai/codex", ""},
	{"opencode", "opencode-ai", "anthropic/claude-test"},
}

// TestReleasesTable: agent.md's table has the releases and models that the two tests above try,
// newest first, and no others. The end is the one that works demands of each.
func TestReleasesTable(t *testing.T) {
	document, err := os.ReadFile("../docs/agent.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString("\n| program | releases | model | ends |\n| --- | --- | --- | --- |\n")
	for _, c := range programs {
		model := "`" + c.id + "`"
		if c.id == "" {
			model = "its own"
		}
		fmt.Fprintf(&want, "| %s | %s | %s | %s |\n", c.name, strings.Join(modeltest.Releases(c.pkg), ", "), model, converged)
	}
	if !strings.Contains(string(document), want.String()+"\n") {
		t.Errorf("docs/agent.md lacks the table:%s", want.String())
	}
}

// converged is how each of them ends.
const converged = "EXIT_CONVERGED"

// works has a program take a directive to its end.
func works(t *testing.T, name, programs, id string) {
	p := fenced(t)
	s := modeltest.New(t, modeltest.ByProgram)
	// A subscriber's token stands where Anthropic's key does.
	key, token := filepath.Join(t.TempDir(), "key"), "sk-ant-"+"oat01-of-a-subscriber"
	if err := os.WriteFile(key, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	configtest.Set(t, p.Bare, "[model] name = \""+name+"\"", "id = \""+id+"\"", "programs = \""+programs+"\"", `[egress] mode = "allowlist"`,
		"anthropic_url = \""+s.URL+"\"", "anthropic_key_file = \""+key+"\"", "openai_url = \""+s.URL+"\"")
	comms, err := os.ReadFile(filepath.Join(p.Work, "COMMS.md"))
	if err != nil {
		t.Fatal(err)
	}
	p.Write("COMMS.md", strings.Replace(string(comms), "## Directives\n", "## Directives\n\n### D-1: make a file\n\nMake made.txt.\n\n- [ ] it is there (`test -e made.txt`)\n- work: made.txt\n", 1))
	p.Git("commit", "--quiet", "--all", "--message", "D-1")
	p.Git("push", "--quiet", "origin", "main")
	out := p.Run(p.Work, "git-ward", "launch", "--bare", p.Bare, "--once", "--state", filepath.Join(filepath.Dir(p.Bare), "state"))
	p.Git("fetch", "--quiet")
	report := p.Git("show", "origin/main:COMMS.md")
	if !strings.Contains(report, " D-1 "+converged+"\n") || strings.Count(out, "INF call ") < 2 {
		t.Fatalf("%s\n%s", report, out)
	}
	t.Logf("%s\n%s", report, out)
	if made := p.Git("show", "origin/agent/D-1:made.txt"); made != "Ward Agent in /bot/home-"+name+"\n" {
		t.Errorf("made.txt: %q", made)
	}
	for _, r := range s.Requests() {
		if r.API == "messages" && (r.Header.Get("Authorization") != "Bearer "+token || r.Header.Get("X-Api-Key") != "") {
			t.Errorf("the token goes out otherwise: %q %q", r.Header.Get("Authorization"), r.Header.Get("X-Api-Key"))
		}
	}
	told(t, p.Bare, "D-1", live.Called, live.Answered, live.Said, live.Tokens, live.State, live.Gateway, live.Verdict, live.Ended)
	// The PM takes it.
	p.Git("merge", "--quiet", "--ff-only", "origin/main")
	p.Git("merge", "--quiet", "--no-edit", "origin/agent/D-1")
	p.Git("push", "--quiet", "origin", "main")
	p.Fsck()
}

// told fails where who looks was not told of each kind (SEE-1).
func told(t *testing.T, bare, directive string, kinds ...live.Kind) {
	t.Helper()
	events, err := runstate.Tail(bare, directive, 10_000)
	if err != nil {
		t.Error(err)
	}
	for _, kind := range kinds {
		if !slices.ContainsFunc(events, func(e live.Event) bool { return e.Kind == kind }) {
			t.Errorf("of %d events none is %q", len(events), kind)
		}
	}
}
