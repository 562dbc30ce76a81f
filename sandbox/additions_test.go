package sandbox

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/loop"
)

const makes = `### D-1: the answer

- [ ] the check passes (` + "`make check`" + `)
`

// TestAsksForAdditions: a loop whose work passes only with what it brings asks, and
// the PM's line is the answer: nothing has to be done again.
func TestAsksForAdditions(t *testing.T) {
	tier.Full(t, "launches of seconds")
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("SKIPPED: make is not on this machine (scripts/setup --fence)")
	}
	p := gittest.New(t)
	const script = `{"directive":"D-1","text":"Done.","calls":[{"name":"bash","args":{"command":"printf 'check:\n\ttrue\n' > GNUmakefile"}}]}
{"directive":"D-1","text":"It passes."}
`
	p.Write("Makefile", "check:\n\tfalse\n")
	p.Write("script.jsonl", script)
	p.Write("COMMS.md", "# COMMS\n\n## Directives\n\n"+makes+"\n## Reports\n")
	p.Git("add", ".")
	p.Git("commit", "--quiet", "--message", "directive")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	launch := func() {
		t.Helper()
		if out, err := p.Try(p.Work, nil, "", "git-ward", "launch", "--unfenced", "--bare", p.Bare, "--once", "--model", "script",
			"--state", filepath.Join(filepath.Dir(p.Bare), "state")); err != nil {
			t.Fatal(err, out)
		}
	}
	launch()
	report := ended(t, p, map[string]string{"D-1": "EXIT_NEED_INFO"})
	if !strings.Contains(report, "\n    - additions: GNUmakefile\n") || strings.Count(report, "### Q-") != 1 ||
		!strings.Contains(report, "\n    Look first at:\n    - decides on it, and came with the work: GNUmakefile (added)\n") || !strings.Contains(report, "\n    Nobody but you can say whether this is done") {
		t.Fatalf("no such question in\n%s", report)
	}
	launch() // nobody has answered: nothing is begun
	if again := ended(t, p, nil); again != report {
		t.Errorf("without an answer:\n%s", again)
	}
	p.Git("reset", "--quiet", "--hard", "origin/main")
	p.Write("COMMS.md", strings.Replace(report, "(`make check`)\n", "(`make check`)\n- additions: GNUmakefile\n", 1))
	p.Git("commit", "--quiet", "--all", "--message", "yes")
	if out, err := p.Push("HEAD:main"); err != nil {
		t.Fatal(err, out)
	}
	launch()
	ended(t, p, map[string]string{"D-1": "EXIT_CONVERGED"})
	v, err := loop.ParseVerdicts([]byte(p.Run(p.Bare, "git", "notes", "--ref=certificates", "show", verdictCommit(t, p, "D-1"))))
	if err != nil || len(v) == 0 || v[len(v)-1].Verdict != loop.Exact || len(v[len(v)-1].Additions) > 0 || strings.Join(v[len(v)-1].Accepted, " ") != "GNUmakefile" {
		t.Errorf("%+v, %v", v, err)
	}
	p.Fsck()
}
