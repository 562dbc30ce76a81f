// Package planrun executes plans in a working tree (PLAN-6): every step is one
// commit with the trailer `Ward-Step: <plan>#<n>`, n counting in the order of
// execution, and one line of the activity log.
//
// In a clone of a person's the steps are commits of the branch. An agent's are not
// (REC-1): each is a commit of its unit's record, whose second parent is a commit of the
// work with the tree after the step (REC-4), made on that of the step before and not on
// the branch. The branch stays where it is; the working tree is that of the last step.
//
// # After a crash
//
// A step is done when its commit is there, and a commit is there whole or not at
// all. So a run that was killed at any point goes on with the first step that has
// no commit: the way to it is walked again, loops over the files that the tree had
// then. What an interrupted step left in the working tree is put aside, in a commit
// at refs/ward-left of the clone. All plans are read from the commit that the run
// began at, which is the one that was linted.
//
// Steps that only touch the tree happen exactly once. A command may have run and
// been killed before its commit: it is at least once, and its commit and log line
// say so when it was run again. Reports are looked for before they are made.
package planrun

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"git-ward/agent/activity"
	"git-ward/agent/interaction"
	"git-ward/agent/stop"
	"git-ward/agent/tool"
	"git-ward/internal/cited"
	"git-ward/internal/diag"
	"git-ward/internal/flock"
	"git-ward/internal/git"
	"git-ward/internal/process"
	"git-ward/internal/worktree"
	"git-ward/protocols/lesson"
	"git-ward/protocols/plan"
	"git-ward/vm"
)

// Runner has what plans need to run: their working tree, and what their steps may use.
type Runner struct {
	Tree *worktree.Tree
	Box  *tool.Box // for commands

	// Record takes an agent's steps; nil: the branch does. With it Since is the record's
	// commit with the plan (Ward-Plan), whose second parent is where the run begins.
	Record   Record
	Control  string   // the commit or ref that says what is registered; "" is origin's control branch
	Trailers []string // more of them for each step's commit, "Key: value"

	Log  *activity.Log
	Task string // "D-1", or "-"

	Effects Effects

	// Advised says that the plans' author was told about missing or wrong citations, so that
	// the plans run anyway. Otherwise a plan runs only without lint findings.
	Advised bool

	Search string // [search] url, "" for none
	Bare   string // the remote on this machine, whose records research reads; "" for none
	Limits vm.Limits
	Calls  []string            // [vm] calls: tools of the machine
	Tools  map[string][]string // likewise, command lines by name

	Redact func(string) string              // removes secrets; may be nil
	Output func(step string, result string) // gets a step's output; may be nil
	Next   func(Next) error                 // called before each step; may be nil
	Done   func(step string)                // called after each step's commit; may be nil
	Gate   *interaction.Gate                // called before each step with its tool; nil allows all

	Since string // ignore runs that began before this commit; see Record
	Again bool   // start again even after a completed run
}

// Effects are what steps do beyond commands and the tree.
type Effects interface {
	// Message sends message_user; key is unique for the step, so that a second delivery is
	// recognised.
	Message(ctx context.Context, text, key string) error
	// Submit pushes the branch.
	Submit(ctx context.Context) error
	// Close ends the task, leaves its post-mortem in the tree, and says where.
	Close(ctx context.Context, task string) (string, error)
}

// Next is the next step to execute.
type Next struct {
	Action  plan.Action
	Command string      // what a shell will run, "" for none
	Ahead   []plan.Step // number of the plan's next step, without callees' steps
}

// Result is how a run ended without an error.
type Result struct {
	Steps    int  // steps of the run, all done now
	Executed int  // by this call
	Before   bool // all were done before
}

// run is one call of Run.
type run struct {
	deps     *Runner
	path     string
	repo     *git.Repo
	base     string // where the run began
	head     string // the commit with the tree after the last step
	branch   string // ref of HEAD, "" when detached
	tip      string // with a record: name of the branch
	lint     *plan.Linter
	batch    *git.Batch // reads plans for the lint
	cursor   *cursor
	research research
	phased   bool     // a phase is one commit: the plan itself is research
	pending  []string // messages of the current phase's uncommitted steps
	last     point    // its last step
	repeated bool     // the current step may have run before
}

// Run executes the plan at a path of the tree, or goes on with it. The error is
// stop.Findings, stop.StepFailed, the context's, or trouble.
func (r *Runner) Run(ctx context.Context, path string) (*Result, error) {
	repo, err := r.Tree.Repo(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.controlled(ctx); err != nil {
		return nil, err
	}
	u := &run{deps: r, path: path, repo: repo}
	unlock, err := lock(ctx, filepath.Join(repo.Dir, "ward-run.lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()
	process.EndTagged(u.tag(), 2*time.Second)
	done, err := u.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer u.batch.Close()
	if !r.Advised {
		u.lint.Citations(cited.In(ctx, repo, lesson.Path, lesson.Ref))
	}
	found, err := u.lint.Lint(path)
	if err != nil {
		return nil, err
	}
	if r.Advised {
		found = plan.Relaxed(found)
	}
	if diag.HasErrors(found) {
		return nil, withFindings(found)
	}
	if err := u.replay(ctx, done); err != nil {
		return nil, err
	}
	return u.execute(ctx, len(done))
}

// begin resets the working tree to the last done step, and returns the done steps.
func (u *run) begin(ctx context.Context) (done []done, err error) {
	if u.deps.Record != nil {
		return u.takeUp(ctx)
	}
	if err := u.clean(ctx); err != nil {
		return nil, err
	}
	return u.resume(ctx)
}

// Lint lints the plan at a path, as Run does before it executes, and says what kind of
// plan it is: of HEAD, or of the record's newest commit with the work that it names.
func (r *Runner) Lint(ctx context.Context, path string) ([]diag.Diagnostic, plan.Analysis, error) {
	l, closeTree, err := r.linter(ctx)
	if err != nil {
		return nil, plan.Analysis{}, err
	}
	defer closeTree()
	found, err := l.Lint(path)
	if err != nil {
		return nil, plan.Analysis{}, err
	}
	a, err := l.Analyze(path)
	return found, a, err
}

// Plan is the plan that Lint lints, nil when there is none.
func (r *Runner) Plan(ctx context.Context, path string) (*plan.Plan, error) {
	l, closeTree, err := r.linter(ctx)
	if err != nil {
		return nil, err
	}
	defer closeTree()
	return l.Plan(path)
}

// LintText lints a text as the plan at a path, in a tree of the work, by any name of it.
func (r *Runner) LintText(ctx context.Context, path string, text []byte, work string) ([]diag.Diagnostic, error) {
	l, closeTree, err := r.linterIn(ctx, func() trees { return trees{work: work, record: r.Record.Tip()} })
	if err != nil {
		return nil, err
	}
	defer closeTree()
	return l.LintText(path, text)
}

func (r *Runner) linter(ctx context.Context) (*plan.Linter, func(), error) {
	return r.linterIn(ctx, r.newest)
}

func (r *Runner) linterIn(ctx context.Context, in func() trees) (*plan.Linter, func(), error) {
	repo, err := r.Tree.Repo(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := r.controlled(ctx); err != nil {
		return nil, nil, err
	}
	batch := repo.Batch(ctx)
	l, err := r.lintOf(batch, in(), "")
	if err == nil {
		l.Citations(cited.In(ctx, repo, lesson.Path, lesson.Ref))
	}
	return l, func() { batch.Close() }, err
}

// Mark is set for the commands of a plan's steps, to the clone where it runs. A step
// that ran a plan would get around the bound on nested calls, which counts only call_plan.
const Mark = "WARD_PLAN_RUN"

// Inside refuses what would run a plan where one runs: by a plan's name, or "" for an agent, which
// could run any. The environment of the process says whether a plan runs.
func Inside(getenv func(string) string, name string) error {
	if getenv(Mark) == "" {
		return nil
	}
	err := errors.New("a plan runs here, and its steps run no other one, and no agent, which could")
	if name == "" {
		return diag.Hint(err, "end the plan first")
	}
	return diag.Hint(err, "write `call_plan %s` as a step of its own; a plan of the machine fdc begins with `# FSM: sub` then, without set_plan, closing and submit", name)
}

// tag marks a run's commands, so that the next run can end orphans.
func (u *run) tag() string { return Mark + "=" + u.repo.Dir }

// lockPatience is how long to wait for another run's end.
const lockPatience = 10 * time.Second

// lock excludes a second run; the kernel releases it with the process.
func lock(ctx context.Context, path string) (release func(), err error) {
	f, err := flock.File(ctx, path, lockPatience)
	if errors.Is(err, flock.ErrHeld) {
		f.Close()
		return nil, diag.Hint(fmt.Errorf("another plan runs in this clone (%s)", path), "wait for its end, or run it in another clone")
	}
	if err != nil {
		return nil, err
	}
	return func() { f.Close() }, nil
}

// execute executes the remaining steps.
func (u *run) execute(ctx context.Context, done int) (*Result, error) {
	for executed := 0; ; executed++ {
		p, ok := u.cursor.next()
		if !ok || !u.research.gathers(p) || p.Phase() != "" {
			if err := u.commitPhase(ctx); err != nil {
				return nil, err
			}
		}
		if !ok {
			u.clearIntent()
			return &Result{Steps: done + executed, Executed: executed, Before: executed == 0 && done > 0}, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := u.step(ctx, p); err != nil {
			return nil, err
		}
	}
}

// step executes, commits and logs one step.
func (u *run) step(ctx context.Context, p point) error {
	blocked := u.deps.Gate.Next(ctx, p.Tool)
	if stop.Of(blocked) != nil { // not executed yet, so it has not failed
		return blocked
	}
	if err := u.intend(p); err != nil {
		return err
	}
	if u.deps.Next != nil {
		first := u.cursor.stack[0]
		if err := u.deps.Next(Next{p.Action(), p.Command(), first.steps[first.next:]}); err != nil {
			return err
		}
	}
	message, err := "", blocked
	if err == nil {
		message, err = u.perform(ctx, p)
	}
	if err == nil {
		err = u.cursor.enter(p)
	}
	if ctx.Err() != nil {
		return ctx.Err() // neither done nor failed
	}
	if err == nil && u.phased && u.research.gathers(p) {
		u.pending, u.last = append(u.pending, fmt.Sprintf("#%d %s: %s", p.n, p.Tool, message)), p
	} else if err == nil {
		err = u.commit(ctx, p, message)
	}
	if err != nil {
		return u.failed(ctx, p, err)
	}
	if err := u.record(p, message, time.Now()); err != nil {
		return err
	}
	if u.deps.Done != nil {
		u.deps.Done(u.name(p.n))
	}
	return nil
}

// failed logs a step's failure and reverts its changes.
func (u *run) failed(ctx context.Context, p point, cause error) error {
	e := u.entry(p, "", time.Now())
	e.ID = "" // a step may fail more than once
	e.Outcome = activity.Outcome{Status: activity.Failure, Error: cause.Error()}
	at := p.stack[len(p.stack)-1]
	err := &stop.Stop{Kind: stop.StepFailed, Err: cause, Why: fmt.Sprintf("step %s (%s:%d, %s) failed",
		u.name(p.n), at[:strings.LastIndexByte(at, '#')], p.Line, diag.Clean(strings.TrimSpace(p.Tool+" "+p.Args)))}
	return errors.Join(err, u.deps.Log.Append(e), u.undo(ctx))
}

// withFindings is the end of a plan that was not executed.
func withFindings(found []diag.Diagnostic) error {
	var b strings.Builder
	diag.WriteText(&b, found)
	return &stop.Stop{Kind: stop.Findings, Why: "the plan has findings, and is not run", Output: b.String(), Findings: found}
}

// name is a step's name in trailers and the log.
func (u *run) name(n int) string { return fmt.Sprintf("%s#%d", u.path, n) }
