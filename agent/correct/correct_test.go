package correct_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/failpoint"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/lesson"
)

func TestMain(m *testing.M) {
	code := m.Run()
	gittest.Clean()
	os.Exit(code)
}

// learn makes a branch with a post-mortem of n lessons, every third of which
// changes code and every seventh of which cannot be carried out.
func learn(p *gittest.Pair, n int) {
	p.T.Helper()
	var b, code strings.Builder
	b.WriteString("**Task ID:** D-1\n**Date:** 2026-11-21\n## Corrective Actions & Lessons Learned\n")
	for i := range n {
		fmt.Fprintf(&code, "line %d\n", i)
		fmt.Fprintf(&b, "- **Lesson:** number %d\n", i)
		switch {
		case i%7 == 6:
			b.WriteString("  **Action:** add tool 'x' to protocol 'nowhere'\n")
		case i%3 == 2:
			fmt.Fprintf(&b, "  **Action:** PROPOSE_CODE_CHANGE 'src/code'\n  ```\n  <<<<<<< SEARCH\n  line %d\n  =======\n  LINE %d\n  >>>>>>> REPLACE\n  ```\n", i, i)
		default:
			fmt.Fprintf(&b, "  **Action:** add tool 'tool-%d' to protocol 'fdc-protocol-001'\n", i)
		}
	}
	p.Git("switch", "--quiet", "-C", "agent/D-1", "origin/main")
	p.Commit("src/code", code.String())
	p.Commit("postmortems/2026-11-21-D-1.md", b.String())
	p.Run(p.Work, "git-ward", "lesson", "extract", "postmortems/2026-11-21-D-1.md")
}

// apply runs `git ward lesson apply` until it has come to its end, killing it
// meanwhile; it says how often it was killed.
func apply(p *gittest.Pair, random *rand.Rand, most int) (kills int) {
	p.T.Helper()
	bin, err := gittest.Bin()
	if err != nil {
		p.T.Fatal(err)
	}
	for {
		cmd := exec.Command(filepath.Join(bin, "git-ward"), "lesson", "apply")
		cmd.Dir, cmd.Env = p.Work, p.Env
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			p.T.Fatal(err)
		}
		if kills < most {
			time.Sleep(time.Duration(random.IntN(120)) * time.Millisecond) // the random moment itself
			cmd.Process.Kill()
		}
		err := await.Exit(p.T, cmd)
		switch code := cmd.ProcessState.ExitCode(); {
		case code > 1, code < 0 && kills == most:
			p.T.Fatalf("after %d kills: %v\n%s", kills, err, out.String())
		case code >= 0:
			return kills
		}
		kills++
		await.True(p.T, "a git that it started ends by itself", func() bool { return syscall.Kill(-cmd.Process.Pid, 0) != nil })
	}
}

// TestKill: killed at any point, the rerun neither repeats nor skips a lesson, and
// comes to the same tree as one that was never killed.
func TestKill(t *testing.T) {
	tier.Full(t, "git ward lesson apply, killed at random moments")
	const lessons = 8
	p := gittest.New(t)
	learn(p, lessons)
	start := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	apply(p, nil, 0)
	want := strings.TrimSpace(p.Git("rev-parse", "HEAD^{tree}"))
	random := rand.New(rand.NewPCG(tier.Seed(t), 0))
	for range 2 {
		p.Git("reset", "--quiet", "--hard", start)
		p.Git("clean", "-fdq")
		apply(p, random, 12)
		checkLessons(p, start, want, lessons)
	}
}

// TestKillAtSteps is TestKill at each step of a lesson, the second and the third of them.
func TestKillAtSteps(t *testing.T) {
	tier.First(t, "git ward lesson apply, killed five times")
	const lessons = 4
	p := gittest.New(t)
	learn(p, lessons)
	start := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	apply(p, nil, 0)
	want := strings.TrimSpace(p.Git("rev-parse", "HEAD^{tree}"))
	p.Git("reset", "--quiet", "--hard", start)
	for _, point := range []string{"correct/written", "correct/indexed", "correct/committed", "correct/written#2", "correct/indexed#2"} {
		if out, err := p.Try(p.Work, []string{failpoint.Var + "=" + point + "=kill"}, "", "git-ward", "lesson", "apply"); err == nil {
			t.Fatalf("not killed at %s:\n%s", point, out)
		}
	}
	apply(p, nil, 0)
	checkLessons(p, start, want, lessons)
}

// checkLessons holds what was made of a branch to what was made of it without a kill.
func checkLessons(p *gittest.Pair, start, want string, lessons int) {
	t := p.T
	t.Helper()
	if got := strings.TrimSpace(p.Git("rev-parse", "HEAD^{tree}")); got != want {
		t.Errorf("another tree:\n%s", p.Git("diff", want, got))
	}
	log := p.Git("log", "--format=%(trailers:key=Ward-Lesson,valueonly)", start+"..")
	seen := map[string]bool{}
	for _, id := range strings.Fields(log) {
		if seen[id] {
			t.Errorf("lesson %s was carried out twice", id)
		}
		seen[id] = true
	}
	if len(seen) != lessons {
		t.Errorf("%d lessons were carried out, not %d", len(seen), lessons)
	}
	if status := p.Git("status", "--porcelain"); status != "" {
		t.Errorf("left behind:\n%s", status)
	}
	if out, err := p.AgentPush("agent/D-1:refs/heads/agent/D-1-" + strings.TrimSpace(p.Git("rev-parse", "--short", "HEAD"))); err != nil {
		t.Errorf("the hook does not replay it: %s", out)
	}
	p.Fsck()
}

// TestDiffThatDoesNotApply: nothing changes but the lesson, which says why, and the
// next one goes on.
func TestDiffThatDoesNotApply(t *testing.T) {
	tier.First(t, "it builds Ward's binaries")
	p := gittest.New(t)
	learn(p, 3) // the third changes code
	p.Commit("src/code", "line 0\nline 2\nline 2\n")
	out, err := p.Try(p.Work, nil, "", "git-ward", "lesson", "apply")
	if err == nil || !strings.Contains(out, "reason: src/code: hunk 1: its lines stand at more than one place") || !strings.Contains(out, "applied 2, failed 1") {
		t.Errorf("%v\n%s", err, out)
	}
	if files := p.Git("show", "--format=", "--name-only"); files != "knowledge_core/lessons.jsonl\n" {
		t.Errorf("changed: %s", files)
	}
	if message := p.Git("log", "-1", "--format=%B"); !strings.Contains(message, "Failed: src/code") || !strings.Contains(message, "Ward-Lesson: L-") {
		t.Error(message)
	}
	if out, err := p.AgentPush("agent/D-1:refs/heads/agent/D-1-" + strings.TrimSpace(p.Git("rev-parse", "--short", "HEAD"))); err != nil {
		t.Error(out)
	}
}

// TestBusy: what somebody works on is not written over.
func TestBusy(t *testing.T) {
	tier.First(t, "it builds Ward's binaries")
	p := gittest.New(t)
	learn(p, 1)
	head := p.Git("rev-parse", "HEAD")
	for _, c := range []struct {
		name          string
		spoil, repair []string
	}{
		{"changed", []string{"sh", "-c", "echo x >> AGENTS.md"}, []string{"git", "checkout", "--", "AGENTS.md"}},
		{"staged", []string{"sh", "-c", "echo x >> AGENTS.md; git add AGENTS.md; git show HEAD:AGENTS.md > AGENTS.md"}, []string{"git", "reset", "--quiet", "--hard"}},
		{"gone", []string{"rm", "protocols/05-fdc.protocol.json"}, []string{"git", "checkout", "--", "."}},
		{"a link", []string{"sh", "-c", "rm AGENTS.md; ln -s /etc/passwd AGENTS.md"}, []string{"git", "checkout", "--", "."}},
		{"a folder that is a link", []string{"sh", "-c", "mv protocols elsewhere; ln -s elsewhere protocols"}, []string{"sh", "-c", "rm protocols; mv elsewhere protocols"}},
	} {
		p.Run(p.Work, c.spoil[0], c.spoil[1:]...)
		out, err := p.Try(p.Work, nil, "", "git-ward", "lesson", "apply")
		if err == nil && c.name != "a folder that is a link" || p.Git("rev-parse", "HEAD") != head && err != nil {
			t.Errorf("%s: %v\n%s", c.name, err, out)
		}
		p.Run(p.Work, c.repair[0], c.repair[1:]...)
	}
	p.Git("reset", "--quiet", "--hard", strings.TrimSpace(head))
	// Other work stays under way.
	p.Write("src/code", "mine\n")
	p.Write("new", "staged\n")
	p.Git("add", "new")
	p.Run(p.Work, "git-ward", "lesson", "apply")
	if status := p.Git("status", "--porcelain"); status != "A  new\n M src/code\n" {
		t.Errorf("status:\n%s", status)
	}
	if files := p.Git("show", "--format=", "--name-only"); strings.Contains(files, "new") || strings.Contains(files, "src/code") {
		t.Errorf("the commit took other work: %s", files)
	}
}

// TestNotesAreNamed: the gate says in the commit of notes whose lessons a push of the agent's brought.
func TestNotesAreNamed(t *testing.T) {
	tier.First(t, "it builds the binaries for a guarded repository")
	p := gittest.New(t)
	learn(p, 1)
	if out, err := p.AgentPush("agent/D-1:refs/heads/agent/D-1-lessons"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := p.Run(p.Bare, "git", "log", "--format=%(trailers:key="+lesson.TrailerOf+",valueonly)", lesson.Ref); strings.TrimSpace(got) != "D-1" {
		t.Errorf("%q", got)
	}
}
