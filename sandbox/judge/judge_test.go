package judge

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/await"
	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/tier"
	"git-ward/protocols/boot"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
	"git-ward/sandbox/verifier"
)

// court is a repository with a directive, and a judge of plain processes.
type court struct {
	*Judge
	t         *testing.T
	bare      string
	work      string // a clone
	directive comms.Directive
	unit      uow.ID
	main      string
	last      *uow.Record   // of the unit's journal
	tip       string        // its commit
	at        time.Duration // from now, what the host's logs of refs say; 0: nothing is done to them
}

const asked = `### D-1: the answer

Find it.

- [ ] the check passes (` + "`sh check.sh`" + `)
- [ ] the answer is short (` + "`test $(wc -c < answer) -lt 9`" + `)
- residual: ` + "`sh distance.sh`" + `
- work: answer, try it.sh
- certificates: EXACT, CONVERGED
- R_p: 0.5
`

func newCourt(t *testing.T, directive string) *court {
	dir := t.TempDir()
	c := &court{t: t, bare: filepath.Join(dir, "bare.git"), work: filepath.Join(dir, "work")}
	c.run(dir, "", "git", "init", "--quiet", "--bare", "--initial-branch=main", c.bare)
	c.host("config", "core.logAllRefUpdates", "always") // as git ward init does
	c.run(dir, "", "git", "clone", "--quiet", c.bare, c.work)
	if err := os.Mkdir(filepath.Join(c.bare, "ward"), 0o700); err != nil {
		t.Fatal(err)
	}
	settings := config.Default()
	repo := git.Open(c.bare)
	places, err := verifier.NewPlaces()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { places.Close() })
	runner := &verifier.Processes{Limits: verifier.Limits{Time: time.Hour, Output: settings.Verify.OutputSize}, Places: places} // no test here waits for the limit
	c.Judge = &Judge{Repo: repo, Settings: settings, Log: zerolog.Nop(), Verify: func(ctx context.Context, claim verifier.Claim) (*verifier.Facts, error) {
		return verifier.Verify(ctx, repo, runner, claim)
	}}
	c.write("check.sh", "test \"$(cat answer)\" = 42\n")
	c.write("distance.sh", "echo $((42 - $(cat answer)))\n")
	c.write("answer", "40\n")
	c.write("COMMS.md", "# COMMS\n\n## Directives\n\n"+directive+"\n## Reports\n")
	c.pushMain()
	c.main = c.head()
	doc, _ := comms.Parse([]byte("# COMMS\n\n## Directives\n\n" + directive + "\n## Reports\n"))
	c.begin(uow.ID{Directive: "D-1", K: 1}, doc.Directives[0])
	return c
}

// begin opens a unit of a directive and takes it up.
func (c *court) begin(unit uow.ID, d comms.Directive) {
	c.t.Helper()
	c.unit, c.directive, c.last, c.tip = unit, d, nil, ""
	c.step(uow.Input{Event: uow.Open, Reason: "DIRECTIVE_OPEN"})
	c.step(uow.Input{Event: uow.Activate, Reason: "WORK_STARTED"})
}

// run runs a program without any settings of the user's, and returns its output.
func (c *court) run(dir, stdin, name string, args ...string) string {
	c.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(c.bare), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org"}
	if c.at != 0 {
		cmd.Env = append(cmd.Env, fmt.Sprintf("GIT_COMMITTER_DATE=%d +0000", time.Now().Unix()+int64(c.at.Seconds())))
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (c *court) git(args ...string) string  { c.t.Helper(); return c.run(c.work, "", "git", args...) }
func (c *court) host(args ...string) string { c.t.Helper(); return c.run(c.bare, "", "git", args...) }
func (c *court) head() string               { c.t.Helper(); return c.git("rev-parse", "HEAD") }

func (c *court) write(name, text string) {
	c.t.Helper()
	path := filepath.Join(c.work, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// pushMain puts the working tree on main, as the PM.
func (c *court) pushMain() {
	c.t.Helper()
	c.git("add", "--all")
	c.git("commit", "--quiet", "--message", "the PM's")
	c.git("push", "--quiet", "origin", "HEAD:refs/heads/main")
}

// step appends a record to the journal. There are no hooks, which are not at stake.
func (c *court) step(in uow.Input) {
	c.t.Helper()
	if in.Time = time.Now(); in.Actor == "" {
		in.Actor = uow.Agent
	}
	if in.Event == uow.MakeClaim && in.Record == "" {
		in.Record = c.record(in.Commit)
	}
	world := uow.World{Main: &uow.Main{DirectiveHash: c.directive.Hash(), Total: uow.Totals(10), Policy: uow.DefaultPolicy()}}
	r, found := uow.Advance(c.unit, c.last, in, world)
	if len(found) > 0 {
		c.t.Fatal(found)
	}
	data, err := r.Marshal()
	if err != nil {
		c.t.Fatal(err)
	}
	c.last = r
	blob := c.run(c.bare, string(data), "git", "hash-object", "-w", "--stdin")
	tree := c.run(c.bare, "100644 blob "+blob+"\t"+uow.File+"\n", "git", "mktree")
	args := []string{"commit-tree", "-m", "step", tree}
	if c.tip != "" {
		args = append(args, "-p", c.tip)
	}
	c.tip = c.host(args...)
	c.host("update-ref", uow.RefPrefix+c.unit.String(), c.tip)
}

// record puts a commit that speaks of one of the work on the unit's record, with no
// papers in it.
func (c *court) record(work string) string {
	c.t.Helper()
	ref := record.Ref(c.unit)
	empty := c.run(c.bare, "", "git", "mktree")
	tip := c.host("for-each-ref", "--format=%(objectname)", ref)
	if tip == "" {
		tip = c.host("commit-tree", "-m", "root", empty)
	}
	speaks := c.host("commit-tree", "-m", "claim", "-p", tip, "-p", work, empty)
	c.host("update-ref", ref, speaks)
	return speaks
}

// claim pushes the working tree and claims it.
func (c *court) claim() string {
	c.t.Helper()
	c.step(uow.Input{Event: uow.Iterate, Reason: "ITERATION_STARTED"})
	c.git("add", "--all")
	c.git("commit", "--quiet", "--allow-empty", "--message", fmt.Sprint("claim", c.last.Iteration))
	c.git("push", "--quiet", "origin", "+HEAD:refs/heads/agent/"+c.unit.Directive)
	commit := c.head()
	c.step(uow.Input{Event: uow.MakeClaim, Reason: "WORK_CLAIMED", Commit: commit})
	return commit
}

// verdicts runs the judge until nothing is open, and reads a commit's note.
func (c *court) verdicts(commit string) []loop.Verdict {
	c.t.Helper()
	for range 5 { // one after the other, of many units
		if open, err := c.open(c.t.Context()); err != nil {
			c.t.Fatal(err)
		} else if len(open) == 0 {
			break
		}
		c.judgeOpen()
	}
	list, err := loop.ParseVerdicts([]byte(c.host("notes", "--ref="+loop.VerdictsRef, "show", commit)))
	if err != nil {
		c.t.Fatal(err)
	}
	return list
}

// judgeOpen has the judge look once, and waits for what that starts. It reports whether there
// was none.
func (c *court) judgeOpen() (none bool) {
	r := c.newRound()
	none = r.look(c.t.Context())
	r.wait(c.t.Context())
	return none
}

// TestJudge: three claims of one unit, of which the last is exact; each gets one
// verdict, and only the tip's claim is open.
func TestJudge(t *testing.T) {
	tier.First(t, "it judges many claims, or waits for the judge to rest")
	t.Parallel()
	c := newCourt(t, asked)
	if open, err := c.open(t.Context()); len(open) != 0 || err != nil {
		t.Fatal(open, err)
	}
	for i, step := range []struct{ answer, verdict, residual string }{{"40", loop.None, "2"}, {"41", loop.None, "1"}, {"42", loop.Exact, "0"}} {
		c.write("answer", step.answer+"\n")
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
}

// TestOpenReadsWhatMoved: of a unit that stands at no claim nothing is read again until it moves.
func TestOpenReadsWhatMoved(t *testing.T) {
	tier.First(t, "a court of git")
	t.Parallel()
	c := newCourt(t, asked)
	if open, err := c.open(t.Context()); len(open) != 0 || err != nil {
		t.Fatal(open, err)
	}
	object := filepath.Join(c.bare, "objects", c.tip[:2], c.tip[2:])
	away := filepath.Join(t.TempDir(), "away")
	if err := os.Rename(object, away); err != nil {
		t.Fatal(err)
	}
	if _, err := c.open(t.Context()); err != nil {
		t.Errorf("it is read again: %v", err)
	}
	if err := os.Rename(away, object); err != nil {
		t.Fatal(err)
	}
	c.claim()
	if open, err := c.open(t.Context()); len(open) != 1 || err != nil {
		t.Errorf("after it moved: %v %v", open, err)
	}
}

// TestVerdictWithoutSecrets: what a command prints loses its secrets before anybody is told or a note
// has it, and decides as it was.
func TestVerdictWithoutSecrets(t *testing.T) {
	tier.First(t, "it judges a claim")
	t.Parallel()
	const directive = "### D-1: the answer\n\nFind it.\n\n- [ ] it is 42 (`sh says.sh && sh check.sh`)\n- work: answer\n"
	c := newCourt(t, directive)
	c.Redact = func() func(string) string {
		return func(text string) string { return strings.ReplaceAll(text, "hunter2", "[key]") }
	}
	c.write("says.sh", "echo the key is hunter2; sleep 3\n")
	c.pushMain()
	var told strings.Builder
	c.Progress = func(_ string, s verifier.Step) { told.WriteString(s.Words() + s.Says + "\n") }
	c.write("answer", "42\n")
	commit := c.claim()
	v := c.verdicts(commit)[0]
	note := c.host("notes", "--ref="+loop.VerdictsRef, "show", commit)
	if v.Verdict != loop.Exact || strings.Contains(note, "hunter2") || !strings.Contains(note, "the key is [key]") {
		t.Errorf("%s: %s", v.Verdict, note)
	}
	if strings.Contains(told.String(), "hunter2") || !strings.Contains(told.String(), "says: the key is [key]") {
		t.Errorf("told: %s", told.String())
	}
}

// TestUntriedProgram: a claim with a validation holds when its program has passed a
// probation, and is judged again then (BOOT-3).
func TestUntriedProgram(t *testing.T) {
	tier.First(t, "it judges a claim twice")
	t.Parallel()
	testUntried(t, func(c *court) {
		c.Settings.Bootstrap.Run, c.Settings.Bootstrap.Validate = []string{"sh", "agent.sh"}, []string{"true"}
	})
}

// TestUntriedWard: so it is where main is Ward's own source, whose program comes from the tree
// though no setting says so.
func TestUntriedWard(t *testing.T) {
	tier.First(t, "it judges a claim twice")
	t.Parallel()
	testUntried(t, func(c *court) {
		for _, path := range boot.WardFiles {
			c.write(path, "a file of Ward's\n")
		}
		c.pushMain()
	})
}

func testUntried(t *testing.T, fromTree func(*court)) {
	c := newCourt(t, asked)
	fromTree(c)
	c.write("answer", "42\n")
	commit := c.claim()
	c.host("update-ref", boot.PassedRef("D-2"), "main~0") // another program's
	for range 2 {
		if list := c.verdicts(commit); len(list) != 1 || list[0].Verdict != loop.None || !list[0].Untried || !strings.Contains(list[0].Reason, "has passed no probation: ") {
			t.Fatalf("%+v", list)
		}
	}
	c.host("update-ref", boot.PassedRef("D-1"), commit)
	if list := c.verdicts(commit); len(list) != 2 || list[1].Verdict != loop.Exact || list[1].Untried || list[1].Claim != c.last.Hash {
		t.Errorf("%+v", list)
	}
}

// TestJudgeRests: a judge with nothing to do starts no git, and still sees the
// claim that comes then, and one whose verdict was taken away.
func TestJudgeRests(t *testing.T) {
	tier.First(t, "it judges many claims, or waits for the judge to rest")
	t.Parallel()
	c := newCourt(t, asked)
	var still atomic.Int32 // turns in a row without a look, which alone starts git
	c.turned = func(looked bool) {
		if still.Add(1); looked {
			still.Store(0)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Serve(ctx) }()
	rests := func() {
		t.Helper()
		await.True(t, "the judge rests", func() bool { return still.Load() > 5 })
	}
	judged := func(commit string) {
		t.Helper()
		await.True(t, "the verdict", func() bool {
			note, err := c.Repo.Note(ctx, loop.VerdictsRef, commit)
			if err != nil {
				t.Fatal(err)
			}
			return note != nil
		})
	}
	rests()
	commit := c.claim()
	judged(commit)
	rests()
	c.host("pack-refs", "--all")
	rests()
	c.host("update-ref", "-d", loop.VerdictsRef)
	judged(commit)
	c.host("pack-refs", "--all")
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
	tier.First(t, "it judges many claims, or waits for the judge to rest")
	t.Parallel()
	c := newCourt(t, asked)
	c.Settings.Bootstrap.Probation = false
	b := &c.Settings.Bootstrap
	b.Build, b.Validate = []string{"sh", "-c", "echo \"it's built\" > built"}, []string{"sh", "try it.sh"}
	c.write("answer", "42\n")
	for _, step := range []struct{ run, script, verdict, tail string }{
		{"", "exit 3\n", loop.Exact, ""}, // the program does not come from the tree
		{"agent.sh", "cat built; exit 3\n", loop.None, "it's built\n"},
		{"agent.sh", "cat built\n", loop.Exact, "it's built\n"},
	} {
		if step.run != "" {
			b.Run = []string{step.run}
		}
		c.write("try it.sh", step.script)
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
	c.write("check.sh", "true\n")
	c.write("distance.sh", "echo 0\n")
	v := c.verdicts(c.claim())[0]
	if v.Verdict != loop.None || strings.Join(v.LeftWords(), ", ") != "check.sh (changed), distance.sh (changed)" {
		t.Errorf("%+v", v)
	}
	// The PM edits the directive while the claim waits.
	c.step(uow.Input{Event: uow.Iterate, Reason: "ITERATION_STARTED"})
	c.step(uow.Input{Event: uow.MakeClaim, Reason: "WORK_CLAIMED", Commit: c.main})
	c.git("reset", "--quiet", "--hard", c.main)
	c.write("COMMS.md", "# COMMS\n\n## Directives\n\n"+strings.Replace(asked, "Find it.", "Find another.", 1)+"\n## Reports\n")
	c.pushMain()
	if v := c.verdicts(c.main)[0]; v.Verdict != loop.None || !strings.Contains(v.Reason, "another text of D-1") {
		t.Errorf("%+v", v)
	}
}

// TestJudgeResiduals: what a residual command prints is exact or not known.
func TestJudgeResiduals(t *testing.T) {
	tier.First(t, "it judges many claims, or waits for the judge to rest")
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
		c.git("reset", "--quiet", "--hard", "origin/main")
		c.write("distance.sh", "test \"$(cat answer)\" = 41 || { echo 9; exit; }\nprintf '"+r.prints+"\\n'\n") // far before the work
		c.pushMain()                                                                                           // on main: it is the PM's
		c.write("answer", "41\n")
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
	c.write("answer", "42\n")
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
