package sandbox

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/loop/schema"
	"git-ward/protocols/uow"
)

const makes = `### D-1: the answer

- [ ] the check passes (` + "`make check`" + `)
`

// push puts the working tree on main, as the PM.
func (c *court) push() {
	c.T.Helper()
	c.Git("add", "--all")
	c.Git("commit", "--quiet", "--message", "the PM's")
	if out, err := c.Push("HEAD:main"); err != nil {
		c.T.Fatal(err, out)
	}
}

// TestJudgeAdditions: what a claim brings of what decides on it is named first, does
// not decide, and is asked for where it would.
func TestJudgeAdditions(t *testing.T) {
	t.Parallel()
	c := newCourt(t, makes)
	c.Write("Makefile", "check:\n\tsh check.sh\n")
	c.push()
	main := strings.TrimSpace(c.Git("rev-parse", "HEAD"))
	for _, step := range []struct {
		name, content, answer, verdict, additions, needs string
	}{
		{"plain.txt", "x\n", "42\n", loop.Exact, "", ""},
		{"GNUmakefile", "check:\n\ttrue\n", "41\n", loop.None, "GNUmakefile (added)", "- additions: GNUmakefile"},
		{"GNUmakefile", "check:\n\tsh check.sh\n", "42\n", loop.Exact, "GNUmakefile (added)", ""},
		{"GNUmakefile", "check:\n\tfalse\n", "42\n", loop.None, "GNUmakefile (added)", ""},
		{"GNUmakefile", "check:\n\tfalse\n", "41\n", loop.None, "GNUmakefile (added)", ""},
		{"b\xff\u202e_test.go", "x\n", "42\n", loop.Exact, `b\xff\u202e_test.go (added)`, ""},
	} {
		c.Git("reset", "--quiet", "--hard", main)
		c.Write(step.name, step.content)
		c.Write("answer", step.answer)
		c.step(uow.Input{Event: uow.Iterate, Reason: "ITERATION_STARTED"})
		c.Git("add", "--all")
		c.Git("commit", "--quiet", "--message", "claimed")
		commit := strings.TrimSpace(c.Git("rev-parse", "HEAD"))
		c.Git("push", "--quiet", "--receive-pack=git -c core.hooksPath=/dev/null receive-pack", c.Bare, "+HEAD:refs/heads/agent/D-1")
		c.step(uow.Input{Event: uow.MakeClaim, Reason: "WORK_CLAIMED", Commit: commit})
		v := c.verdicts(commit)[0]
		if v.Verdict != step.verdict || strings.Join(v.Additions, ", ") != step.additions || v.Needs != step.needs || v.Main != main || v.Base != main || !v.Sound() {
			t.Errorf("%s, answer %s: %+v", step.name, step.answer, v)
		}
		line, err := v.Line()
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate("verdict", line); err != nil {
			t.Errorf("%s\n%v", line, err)
		}
	}
}

// TestJudgeUnfit: a claim that cannot be checked out has its verdict, once.
func TestJudgeUnfit(t *testing.T) {
	t.Parallel()
	c := newCourt(t, makes)
	c.Settings.Verify.CheckoutEntries = 20
	for _, name := range strings.Fields("a b c d e f g h i j k l m n o p q r s t u v w x y z") {
		c.Write(name, "x\n")
	}
	list := c.verdicts(c.claim())
	if len(list) != 1 || list[0].Verdict != loop.None || !strings.Contains(list[0].Reason, "more than 20 entries ([verify] checkout_entries)") {
		t.Errorf("%+v", list)
	}
}

// TestJudgeBase: what decides is as it was where the work left main, as long as the
// directive said then what it says now: by beginning from an old commit nobody
// chooses tests that the PM has replaced.
func TestJudgeBase(t *testing.T) {
	t.Parallel()
	c := newCourt(t, makes)
	began := strings.TrimSpace(c.Git("rev-parse", "HEAD"))
	c.Write("Makefile", "check:\n\ttrue\n")
	c.push() // the PM's first, hollow check
	hollow := strings.TrimSpace(c.Git("rev-parse", "HEAD"))
	c.Write("Makefile", "check:\n\tsh check.sh\n")
	c.push()
	c.Git("reset", "--quiet", "--hard", hollow)
	c.Write("note", "x\n")
	v := c.verdicts(c.claim())[0]
	if v.Verdict != loop.Exact || v.Base != hollow || v.Main == hollow {
		t.Errorf("%+v", v)
	}
	// The directive is edited: work from before is held against main as it stands.
	c.Git("reset", "--quiet", "--hard", "origin/main")
	edited := strings.Replace(makes, "the check passes", "the new check passes", 1)
	c.Write("COMMS.md", "# COMMS\n\n## Directives\n\n"+edited+"\n## Reports\n")
	c.push()
	main := strings.TrimSpace(c.Git("rev-parse", "HEAD"))
	doc, _ := comms.Parse([]byte("# COMMS\n\n## Directives\n\n" + edited + "\n## Reports\n"))
	c.directive = doc.Directives[0]
	c.step(uow.Input{Event: uow.Fail, Reason: "DIRECTIVE_CHANGED"})
	if then, err := base(t.Context(), c.repo, claimOf(&c.directive, c.Settings, hollow, main), &c.directive); err != nil || then != main {
		t.Errorf("%s, %v; want %s", then, err, main)
	}
	if then, err := base(t.Context(), c.repo, claimOf(&c.directive, c.Settings, began, main), &c.directive); err != nil || then != main {
		t.Errorf("%s, %v; want %s", then, err, main)
	}
}

// TestAsksForAdditions: a loop whose work passes only with what it brings asks, and
// the PM's line is the answer: nothing has to be done again.
func TestAsksForAdditions(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("SKIPPED: make is not on this machine (scripts/setup --tests)")
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
		!strings.Contains(report, "Look first at what the work brings of what decides on it: GNUmakefile (added).\nNobody but you") {
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

// TestJudgeMissingTool: a criterion whose tool is not there says so.
func TestJudgeMissingTool(t *testing.T) {
	t.Parallel()
	c := newCourt(t, strings.Replace(makes, "make check", "cd . && no-such-tool check", 1))
	v := c.verdicts(c.claim())[0]
	if v.Verdict != loop.None || !strings.Contains(v.Reason, "(no-such-tool was not found where the commands run: [sandbox]") {
		t.Errorf("%+v", v)
	}
}

// TestVerifyCommand: exit 0 only where everything is met and nothing was put back;
// what the claim adds is said first.
func TestVerifyCommand(t *testing.T) {
	t.Parallel()
	p := gittest.New(t)
	p.Write("Makefile", "check:\n\tsh check.sh\n")
	p.Write("check.sh", "test \"$(cat answer)\" = 42\n")
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
		{"b_test.go", "x\n", "42\n", []string{"D-1"}, 0, "addition: b_test.go (added; left out of the run that decides)\ncriterion 1  run 1  ok"},
		{"GNUmakefile", "check:\n\ttrue\n", "41\n", []string{"D-1"}, 1, "addition: GNUmakefile (added; left out of the run that decides)\ncriterion 1  run 1  exit 2"},
		{"Makefile", "check:\n\ttrue\n", "42\n", []string{"D-1"}, 1, "put back: Makefile (changed)\ncriterion 1  run 1  ok"},
		{"prog", "x\n", "42\n", []string{"--run", "make check"}, 0, "line 1       run 1  ok"},
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
