package command

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

const makes = `### D-1: the answer

- [ ] the check passes (` + "`make check`" + `)
- work: answer
`

func TestMain(m *testing.M) {
	code := m.Run()
	gittest.Clean()
	os.Exit(code)
}

// TestVerifyCommand: exit 0 only where everything is met; what was left out is said first.
func TestVerifyCommand(t *testing.T) {
	tier.First(t, "it builds the binaries")
	t.Parallel()
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("SKIPPED: make is not on this machine (scripts/setup --fence)")
	}
	p := gittest.New(t)
	p.Write("Makefile", "check:\n\tsh check.sh\n")
	p.Write("check.sh", "test \"$(cat answer)\" = 42\n")
	p.Write("answer", "42\n")
	p.Write("COMMS.md", "# COMMS\n\n## Directives\n\n"+makes+"\n## Reports\n")
	p.Git("add", ".")
	p.Git("commit", "--quiet", "--message", "main")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	for _, c := range []struct {
		name, content, answer string
		args                  []string
		exit                  int
		begins                string
	}{
		{"b_test.go", "x\n", "42\n", []string{"D-1"}, 0, "left out: b_test.go (added; not work, so main's version decides)\ncriterion 1  run 1  ok"},
		{"GNUmakefile", "check:\n\ttrue\n", "41\n", []string{"D-1"}, 1, "left out: GNUmakefile (added; not work, so main's version decides)\ncriterion 1  run 1  exit 2"},
		{"Makefile", "check:\n\ttrue\n", "42\n", []string{"D-1"}, 0, "left out: Makefile (changed; not work, so main's version decides)\ncriterion 1  run 1  ok"},
		{"prog", "x\n", "42\n", []string{"--run", "make check"}, 0, "line 1       run 1  ok"},
		{"answer", "42\n", "41\n", []string{"D-1", "--format", "junit"}, 1, `<failure message="exit 2"`},
		{strings.Repeat("d/", 120) + "f", "x\n", "42\n", []string{"D-1"}, 1, "cannot be judged: the checkout of "},
	} {
		p.Git("reset", "--quiet", "--hard", "origin/main")
		p.Write(c.name, c.content)
		p.Write("answer", c.answer)
		p.Git("add", "--all")
		p.Git("commit", "--quiet", "--message", "claimed")
		p.Git("push", "--quiet", "--receive-pack=git -c core.hooksPath=/dev/null receive-pack", p.Bare, "+HEAD:refs/heads/agent/D-1")
		args := append([]string{"verify", "--bare", p.Bare, "--unfenced", "agent/D-1"}, c.args...)
		if c.args[0] == "--run" {
			args = append([]string{"verify", "--bare", p.Bare, "--unfenced"}, append(c.args, "agent/D-1")...)
		}
		out, err := p.Try(p.Work, nil, "", "git-ward", args...)
		exit := 0
		var ended *exec.ExitError
		if errors.As(err, &ended) {
			exit = ended.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if exit != c.exit || !strings.Contains(out, c.begins) {
			t.Errorf("%s: exit %d\n%s", c.name[:min(20, len(c.name))], exit, out)
		}
	}
}
