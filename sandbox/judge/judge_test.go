package judge

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
	"git-ward/sandbox/verifier"
)

func TestMain(m *testing.M) {
	code := m.Run()
	gittest.Clean()
	os.Exit(code)
}

// court is a repository with a directive, and a judge of plain processes.
type court struct {
	*gittest.Pair
	*Judge
	directive comms.Directive
	main      string
	last      *uow.Record // of the unit's journal
	tip       string      // its commit
}

const asked = `### D-1: the answer

Find it.

- [ ] the check passes (` + "`sh check.sh`" + `)
- [ ] the answer is short (` + "`test $(wc -c < answer) -lt 9`" + `)
- residual: ` + "`sh distance.sh`" + `
- certificates: EXACT, CONVERGED
- R_p: 0.5
`

func newCourt(t *testing.T, directive string) *court {
	p := gittest.New(t)
	settings, err := config.Load(p.Bare)
	if err != nil {
		t.Fatal(err)
	}
	c := &court{Pair: p}
	repo := git.Open(p.Bare)
	runner := &verifier.Processes{Bare: p.Bare, Limits: verifier.Limits{Time: 20 * time.Second, Output: settings.Verify.OutputSize}}
	c.Judge = &Judge{Repo: repo, Settings: settings, Log: zerolog.Nop(), Verify: func(ctx context.Context, claim verifier.Claim) (*verifier.Facts, error) {
		return verifier.Verify(ctx, repo, runner, claim)
	}}
	p.Write("check.sh", "test \"$(cat answer)\" = 42\n")
	p.Write("distance.sh", "echo $((42 - $(cat answer)))\n")
	p.Write("answer", "40\n")
	p.Write("COMMS.md", "# COMMS\n\n## Directives\n\n"+directive+"\n## Reports\n")
	p.Git("add", ".")
	p.Git("commit", "--quiet", "--message", "D-1")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	c.main = strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	doc, _ := comms.Parse([]byte("# COMMS\n\n## Directives\n\n" + directive + "\n## Reports\n"))
	c.directive = doc.Directives[0]
	c.step(uow.Input{Event: uow.Open, Reason: "DIRECTIVE_OPEN"})
	c.step(uow.Input{Event: uow.Activate, Reason: "WORK_STARTED"})
	return c
}

// step appends a record to the journal, past the hooks, which are not at stake.
func (c *court) step(in uow.Input) {
	c.T.Helper()
	if in.Time = time.Now(); in.Actor == "" {
		in.Actor = uow.Agent
	}
	world := uow.World{Main: &uow.Main{DirectiveHash: c.directive.Hash(), Total: uow.Totals(10), Policy: uow.DefaultPolicy()}}
	r, found := uow.Advance(uow.ID{Directive: "D-1", K: 1}, c.last, in, world)
	if len(found) > 0 {
		c.T.Fatal(found)
	}
	data, err := r.Marshal()
	if err != nil {
		c.T.Fatal(err)
	}
	c.last = r
	blob, err := c.Try(c.Bare, nil, string(data), "git", "hash-object", "-w", "--stdin")
	if err != nil {
		c.T.Fatal(blob)
	}
	tree, err := c.Try(c.Bare, nil, "100644 blob "+strings.TrimSpace(blob)+"\t"+uow.File+"\n", "git", "mktree")
	if err != nil {
		c.T.Fatal(tree)
	}
	args := []string{"commit-tree", "-m", "step", strings.TrimSpace(tree)}
	if c.tip != "" {
		args = append(args, "-p", c.tip)
	}
	c.tip = strings.TrimSpace(c.Run(c.Bare, "git", args...))
	c.Run(c.Bare, "git", "update-ref", "refs/ward/uow/D-1.1", c.tip)
}

// claim pushes the working tree and claims it.
func (c *court) claim() string {
	c.T.Helper()
	c.step(uow.Input{Event: uow.Iterate, Reason: "ITERATION_STARTED"})
	c.Git("add", "--all")
	c.Git("commit", "--quiet", "--allow-empty", "--message", fmt.Sprint("claim", c.last.Iteration))
	if out, err := c.AgentPush("+HEAD:refs/heads/agent/D-1"); err != nil {
		c.T.Fatal(err, out)
	}
	commit := strings.TrimSpace(c.Git("rev-parse", "HEAD"))
	c.step(uow.Input{Event: uow.MakeClaim, Reason: "WORK_CLAIMED", Commit: commit})
	return commit
}

// verdicts runs the judge until nothing is open, and reads a commit's note.
func (c *court) verdicts(commit string) []loop.Verdict {
	c.T.Helper()
	ctx, cancel := context.WithCancel(c.T.Context())
	done := make(chan error, 1)
	go func() { done <- c.Serve(ctx) }()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		open, err := c.open(ctx)
		if err != nil || time.Now().After(deadline) {
			c.T.Fatal("not judged", err)
		}
		if len(open) == 0 {
			break
		}
	}
	cancel()
	if err := <-done; err != nil {
		c.T.Fatal(err)
	}
	list, err := loop.ParseVerdicts([]byte(c.Run(c.Bare, "git", "notes", "--ref="+loop.VerdictsRef, "show", commit)))
	if err != nil {
		c.T.Fatal(err)
	}
	return list
}

// TestJudge: three claims of one unit, of which the last is exact; each gets one
// verdict, and only the tip's claim is open.
func TestJudge(t *testing.T) {
	t.Parallel()
	c := newCourt(t, asked)
	if open, err := c.open(t.Context()); len(open) != 0 || err != nil {
		t.Fatal(open, err)
	}
	for i, step := range []struct{ answer, verdict, residual string }{{"40", loop.None, "2"}, {"41", loop.None, "1"}, {"42", loop.Exact, "0"}} {
		c.Write("answer", step.answer+"\n")
		commit := c.claim()
		list := c.verdicts(commit)
		if len(list) != 1 {
			t.Fatalf("%d verdicts", len(list))
		}
		v := list[0]
		if v.Verdict != step.verdict || v.Residual.Words() != step.residual || v.Claim != c.last.Hash || v.Iteration != i+1 || v.Fence != loop.FenceNone ||
			v.Trials != 2 || !v.Agree || v.Unit != "D-1.1" || v.Caveat != loop.Caveat {
			t.Errorf("%+v", v)
		}
		if v.Proves(commit, "D-1.1", c.directive.Hash()) != (step.verdict == loop.Exact) {
			t.Errorf("%s proves the wrong thing", v.Verdict)
		}
	}
	// A second look finds nothing to do.
	if open, err := c.open(t.Context()); len(open) != 0 || err != nil {
		t.Error(open, err)
	}
	var status struct {
		Units []struct {
			Hash     string
			Verdicts []loop.Verdict
		}
	}
	out := c.Run(c.Work, "git-ward", "status", "--json", "--bare", c.Bare)
	if err := json.Unmarshal([]byte(out), &status); err != nil || len(status.Units) != 1 || status.Units[0].Hash != c.last.Hash || len(status.Units[0].Verdicts) != 3 {
		t.Errorf("%v: status shows %s", err, out)
	}
}

// TestJudgeRests: a judge with nothing to do starts no git, and still sees the
// claim that comes then, and one whose verdict was taken away.
func TestJudgeRests(t *testing.T) {
	t.Parallel()
	c := newCourt(t, asked)
	var trouble atomic.Int32
	c.Log = zerolog.New(io.Discard).Hook(zerolog.HookFunc(func(_ *zerolog.Event, level zerolog.Level, _ string) {
		if level == zerolog.ErrorLevel {
			trouble.Add(1)
		}
	}))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Serve(ctx) }()
	rests := func() {
		t.Helper()
		head := filepath.Join(c.Bare, "HEAD")
		for range 10 { // on a busy machine a look takes its time
			time.Sleep((restAfter + 1) * lookInterval)
			if err := os.Rename(head, head+"-away"); err != nil { // git would say that this is no repository
				t.Fatal(err)
			}
			time.Sleep(2 * lookInterval)
			if err := os.Rename(head+"-away", head); err != nil {
				t.Fatal(err)
			}
			if trouble.Swap(0) == 0 {
				return
			}
		}
		t.Error("it does not rest")
	}
	judged := func(commit string) {
		t.Helper()
		for start := time.Now(); ; time.Sleep(100 * time.Millisecond) {
			if note, err := c.Repo.Note(ctx, loop.VerdictsRef, commit); err != nil || time.Since(start) > time.Minute {
				t.Fatal("not judged", err)
			} else if note != nil {
				return
			}
		}
	}
	rests()
	commit := c.claim()
	judged(commit)
	rests()
	c.Run(c.Bare, "git", "pack-refs", "--all")
	rests()
	c.Run(c.Bare, "git", "update-ref", "-d", loop.VerdictsRef)
	judged(commit)
	c.Run(c.Bare, "git", "pack-refs", "--all")
	commit = c.claim()
	judged(commit)
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestJudgeValidates: where the agent's program comes from the tree, a claim is of
// a program that passes its own build and validation, which it may change.
func TestJudgeValidates(t *testing.T) {
	t.Parallel()
	c := newCourt(t, asked)
	b := &c.Settings.Bootstrap
	b.Build, b.Validate = []string{"sh", "-c", "echo \"it's built\" > built"}, []string{"sh", "try it.sh"}
	c.Write("answer", "42\n")
	for _, step := range []struct{ run, script, verdict, tail string }{
		{"", "exit 3\n", loop.Exact, ""}, // the program does not come from the tree
		{"agent.sh", "cat built; exit 3\n", loop.None, "it's built\n"},
		{"agent.sh", "cat built\n", loop.Exact, "it's built\n"},
	} {
		if step.run != "" {
			b.Run = []string{step.run}
		}
		c.Write("try it.sh", step.script)
		v := c.verdicts(c.claim())[0]
		if v.Verdict != step.verdict || (v.Validate == nil) != (step.run == "") || v.Validate != nil && v.Validate.Tail != step.tail || len(v.Deviations) > 0 {
			t.Errorf("%s %q: %+v", v.Verdict, v.Reason, v.Validate)
		}
	}
}

// TestJudgeIsNotFooled: what the agent does to the check does not count, and what
// main does to the directive does.
func TestJudgeIsNotFooled(t *testing.T) {
	t.Parallel()
	c := newCourt(t, asked)
	c.Write("check.sh", "true\n")
	c.Write("distance.sh", "echo 0\n")
	v := c.verdicts(c.claim())[0]
	if v.Verdict != loop.None || strings.Join(v.Deviations, ", ") != "check.sh (changed), distance.sh (changed)" {
		t.Errorf("%+v", v)
	}
	// The PM edits the directive while the claim waits.
	c.step(uow.Input{Event: uow.Iterate, Reason: "ITERATION_STARTED"})
	c.step(uow.Input{Event: uow.MakeClaim, Reason: "WORK_CLAIMED", Commit: c.main})
	c.Git("reset", "--quiet", "--hard", c.main)
	c.Write("COMMS.md", "# COMMS\n\n## Directives\n\n"+strings.Replace(asked, "Find it.", "Find another.", 1)+"\n## Reports\n")
	c.Git("commit", "--quiet", "--all", "--message", "edited")
	if out, err := c.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	if v := c.verdicts(c.main)[0]; v.Verdict != loop.None || !strings.Contains(v.Reason, "another text of D-1") {
		t.Errorf("%+v", v)
	}
}

// TestJudgeResiduals: what a residual command prints is exact or not known.
func TestJudgeResiduals(t *testing.T) {
	c := newCourt(t, asked)
	scratch := t.TempDir()
	t.Setenv("TMPDIR", scratch) // of the commands that are judged; so this test is not parallel
	for _, r := range []struct{ prints, verdict, residual string }{
		{"0.4999999999999999999999999999", loop.Converged, "0.4999999999999999999999999999"},
		{"0.5", loop.None, "0.5"},
		{"NaN", loop.None, "not known"},
		{"", loop.None, "not known"},
		{"1e400", loop.None, "1e400"},
		{"-1", loop.None, "not known"},
		{"0.1 0.2", loop.None, "not known"},
	} {
		c.Git("reset", "--quiet", "--hard", "origin/main")
		c.Write("distance.sh", "printf '"+r.prints+"\\n'\n")
		c.Git("commit", "--quiet", "--all", "--message", "a residual") // on main: it is the PM's
		if out, err := c.Push("HEAD:main"); err != nil {
			t.Fatal(err, out)
		}
		c.Write("answer", "41\n")
		if v := c.verdicts(c.claim())[0]; v.Verdict != r.verdict || !strings.EqualFold(v.Residual.Words(), r.residual) {
			t.Errorf("%q: %s, residual %s, want %s, %s", r.prints, v.Verdict, v.Residual.Words(), r.verdict, r.residual)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(scratch, "ward-verify-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestClaimBelowOtherRecords: the PM's sign, and a pause and its end, after a claim
// do not take it from the judge.
func TestClaimBelowOtherRecords(t *testing.T) {
	c := newCourt(t, asked)
	c.Write("answer", "42\n")
	commit := c.claim()
	claim := c.last.Hash
	c.step(uow.Input{Event: uow.Heartbeat, Actor: uow.PM, Reason: "PULSE_APPROVED"})
	c.step(uow.Input{Event: uow.Pause, Actor: uow.PM, Reason: "COST_REVIEW"})
	if open, err := c.open(t.Context()); err != nil || len(open) > 0 {
		t.Fatal("a paused unit is not judged", open, err)
	}
	c.step(uow.Input{Event: uow.Resume, Actor: uow.PM, Reason: "REVIEWED"})
	if list := c.verdicts(commit); len(list) != 1 || list[0].Verdict != loop.Exact || list[0].Claim != claim {
		t.Fatalf("%+v", list)
	}
}
