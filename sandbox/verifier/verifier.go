// Package verifier runs the commands of a claim: on main with the claim's work, and on the whole claim,
// each command on a clean checkout in a fresh container without network, door or gateway (LOOP-5,
// PROOF-1). It reports what happened; protocols/loop decides what that means.
//
// Its report says that these commands, in this image, ended so on this commit, and nothing else. Code
// can still cheat its own tests, which is why the PM merges by default.
package verifier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"git-ward/internal/git"
	"git-ward/internal/scratch"
	"git-ward/internal/sources"
	"git-ward/protocols/loop"
)

// Claim is work that somebody says is done.
type Claim struct {
	Commit   string    // the claimed commit, a full object id
	Main     string    // the commit of main that it is held against
	Base     string    // the commit of main's history that all but the work comes from; "" for Base of the two
	Commands []Command // in the order in which they run
	Frozen   []string  // globs: as on main in every run, and nothing new
	Pinned   []string  // globs: never work, beside what the table of tests has
	Work     []string  // globs: what is work; none: the sources of main's own manifests
	Included []Entry   // what the PM's word takes for work beside it
	Replays  int       // how often all of it runs; at least 1
	Bounds   Bounds    // of the checkout
	// Progress, if any, is called when a command starts and when it has ended, never concurrently.
	Progress func(Step)
	// Redact, if any, removes secrets from what is shown of a command's output (SEE-1).
	Redact   func(string) string
	Cache    string   // what there is of a cache, for Facts
	Against  *Against // nil: plain runs will do
	Controls []string // of the commands that hold, such as Broken
	Ends     *Ends    // of commands without the work, that are kept; nil: none are
	Alone    bool     // no command runs beside another, not for a control either
	// Breaks is a line for the shell that makes the project's tests fail, besides what Broken does; ""
	// for none.
	Breaks string
	// Held are files that only held-out commands find in the tree.
	Held []File
	// Scratch is the directory for temporary files, which its owner removes if this process is killed;
	// "" for the system's.
	Scratch string
}

// Step is a verification's progress.
type Step struct {
	Command
	Run, Runs int           // which run of all commands this is, from 1, and how many there are
	With      bool          // the run with all of the claim
	Note      string        // what else a run is for, such as Shuffled; "" for a plain one
	Elapsed   time.Duration // since the command's start; 0 as it starts
	Says      string        // the last line of its output so far, as it came: untrusted
	Ended     *Outcome      // nil: it starts, or runs still
}

// Command is one line for `sh -c`.
type Command struct {
	Name string `json:"name"` // "criterion 1", "residual", "suite", "validate"
	Line string `json:"line"`
	// Own marks a command that the claimed tree declares: it runs the tree's programs, and not main's.
	Own bool `json:"own,omitzero"`
	// Held marks a held-out command: neither its line nor its output is shown, and its outcome says only
	// whether it held (PROOF-5).
	Held bool `json:"held,omitzero"`
	// Residual marks a command that prints the distance to the goal. It holds at 0, or below Below, a
	// decimal, if there is one. Then, of the other commands, only those marked Must have to hold.
	Residual bool   `json:"residual,omitzero"`
	Below    string `json:"below,omitzero"`
	Must     bool   `json:"must,omitzero"`
}

// Shown returns the line as people and agents see it.
func (c Command) Shown() string {
	if c.Held {
		return loop.HeldOut
	}
	return c.Line
}

// Facts are the results of running a claim.
type Facts struct {
	Commit     string      `json:"commit"`
	Main       string      `json:"main"`
	Base       string      `json:"base"` // the commit of main's history that the work was put on
	Left       []Left      `json:"left"`
	Included   []string    `json:"included,omitempty"` // paths that are work by the PM's word
	Deviations []Deviation `json:"deviations"`
	// Observed is from the first run and, for paths left out, from the run on the whole claim. It leaves
	// out what held-out commands open. Its texts are raw, as git and the runners give them.
	loop.Observed
	// Code says that the work has code that can run in its tests' process.
	Code    bool    `json:"code"`
	Same    bool    `json:"same,omitzero"` // nothing of Base is changed: neither work nor what was left out
	Tree    string  `json:"tree"`          // that decides, on which Replays ran: Base's with the work
	Image   string  `json:"image"`         // empty: none
	Fence   string  `json:"fence"`         // podman/RUNTIME, or none
	Replays [][]Run `json:"replays"`
	Apart
	// All is the tree of the whole claim, and With a run of all commands on it; "" and nil if that is
	// Tree.
	All  string `json:"all,omitempty"`
	With []Run  `json:"with,omitempty"`
	// Against are the further runs that a rung requires, Mutants the results of changes to the claim's
	// lines, Surface what it exports, and NotDone what could not be done.
	Against []AgainstRun  `json:"against,omitempty"`
	Mutants *Mutants      `json:"mutants,omitempty"`
	Surface *loop.Surface `json:"surface,omitempty"`
	NotDone []string      `json:"not_done,omitempty"`
	// Controls are the results of the controls, if all commands held.
	Controls []Control `json:"controls,omitempty"`
	// Missing is a program that main's own texts or commands need and that is missing where the commands
	// run, so that no work on the claim would help; nil for none.
	Missing *Missing `json:"missing,omitempty"`
	// Cache says which of main's dependencies the commands had, and how the claim's differ (LOOP-12); ""
	// for none.
	Cache string `json:"cache,omitempty"`
	// Unfit says why the commit cannot be judged; nothing was run then.
	Unfit string `json:"unfit,omitempty"`
}

// OK reports whether every command held in every run, and no command is known that cannot fail.
func (f *Facts) OK() bool {
	all := append(slices.Clip(f.Replays), f.With)
	for _, a := range f.Against {
		all = append(all, a.Runs)
	}
	for _, runs := range all {
		for i := range runs {
			if !runs[i].OK() {
				return false
			}
		}
	}
	return len(f.Replays) > 0 && !slices.ContainsFunc(f.Controls, func(c Control) bool { return loop.Refuted(c.Says) })
}

// supporting lists the commands that support the claim: all, if all held in every run; otherwise the
// residual, if it is low enough, with the commands marked Must. Commands of the claimed tree are not
// among them.
func (f *Facts) supporting() (list []Command) {
	all, low := f.OK(), false
	for _, runs := range append(slices.Clip(f.Replays), f.With) {
		for _, r := range runs {
			low = low || r.Below != ""
			if (r.Residual || r.Must) && !r.met() {
				return nil
			}
		}
	}
	for _, r := range f.Replays[0] {
		if !r.Own && (all || low && (r.Residual || r.Must)) {
			list = append(list, r.Command)
		}
	}
	return list
}

// Runner runs one command on a fresh checkout.
type Runner interface {
	// Run fails only if the command could not be run. How it ended is an Outcome.
	Run(ctx context.Context, job Job) (Outcome, error)
	// Fence is "podman/RUNTIME" or "none", and the image, if any.
	Fence() (fence, image string)
}

// Job is one line for the shell, and what it runs on: a checkout of Commit, the only commit of its
// repository.
type Job struct {
	Repo   string // the repository's directory; "" for the runner's own
	Commit string
	Tree   string // Commit's
	Line   string
	Env    map[string]string // beside what the runner gives every command
	Live   *Live             // shows the output as it comes; nil: nobody looks
	Watch  []string          // files of the checkout of which the outcome says whether they were opened
	Guard  []string          // and those of which it says whether they were written to
	Checks []string          // and those, of the project's, that a command may check by
	Next   bool              // another job comes soon after it
	Keep   bool              // the outcome has the beginning of what was printed
	Anew   bool              // no run before it will do: whether it ends as that did is what is asked
	Word   string            // by which tests say what they came to, in a file, too; "" for none
}

// Verify runs every command of a claim, each on its own checkout, and again for each replay, on main with
// the work, which decides; and once on the whole claim, if that is another tree (PROOF-1). The error is
// *Unfit for a commit that can never be judged.
func Verify(ctx context.Context, repo *git.Repo, runner Runner, claim Claim) (*Facts, error) {
	if len(claim.Commands) == 0 || claim.Replays < 1 {
		return nil, errors.New("a claim needs a command and at least one run of it")
	}
	if claim.Base == "" {
		base, err := Base(ctx, repo, claim.Main, claim.Commit)
		if err != nil {
			return nil, err
		}
		claim.Base = base
	}
	// Objects made from the agent's commits are not kept in the repository, because no ledger counts
	// them (GATE-6), and no command may read them, because held-out files are among them.
	made, err := scratch.Make(claim.Scratch, "objects-")
	if err != nil {
		return nil, err
	}
	defer made.Remove()
	trees, err := scratch.Make(claim.Scratch, "trees-")
	if err != nil {
		return nil, err
	}
	defer trees.Remove()
	if err := os.Chmod(trees.Path, 0o755); err != nil { // containers have users of their own
		return nil, err
	}
	if tell := claim.Progress; tell != nil {
		var one sync.Mutex
		claim.Progress = func(s Step) {
			one.Lock()
			defer one.Unlock()
			tell(s)
		}
	}
	t := &trying{repo: repo.WithObjectDir(made.Path), runner: runner, claim: &claim, listed: map[string]sources.Tree{}}
	t.judged = &judged{repo: t.repo, dir: trees.Path, made: map[string]*judgedTree{}}
	defer t.judged.close()
	return t.verify(ctx)
}

// trying is a verification under way.
type trying struct {
	repo   *git.Repo // with what is made for it
	runner Runner
	claim  *Claim
	judged *judged
	listed map[string]sources.Tree // trees that were read, by id
	// company reserves room for a second run; nil if runs may not be concurrent.
	company func() (leave func(), ok bool)
	once    *once // the runner of forControls

	heldTime time.Duration // that what is held out took, with its controls
}

func (t *trying) verify(ctx context.Context) (*Facts, error) {
	claim := t.claim
	o, err := t.overlay(ctx)
	if err != nil {
		return nil, fmt.Errorf("the checkout of %.12s cannot be made: %w", claim.Commit, err)
	}
	f := &Facts{Commit: claim.Commit, Main: claim.Main, Base: claim.Base, Same: len(o.do)+len(o.left)+len(o.deviations) == 0, Tree: o.tree, Left: o.left, Included: o.included,
		Deviations: o.deviations, Code: o.code, Cache: claim.Cache}
	f.Fence, f.Image = t.runner.Fence()
	f.Shared = sharedBy(t.runner)
	controls := t.forControls()
	at := Step{Runs: claim.Replays}
	if o.with != o.tree {
		at.Runs++
	}
	more := len(claim.Controls) > 0 && !f.Same
	for at.Run = 1; at.Run <= claim.Replays; at.Run++ {
		how := Job{Next: at.Run < at.Runs || more, Checks: o.checks}
		if at.Run == 1 {
			how.Watch, how.Guard = o.present(), o.others
		}
		runs, err := t.run(ctx, t.runner, o.tree, at, how)
		if err != nil {
			return nil, err
		}
		f.Replays = append(f.Replays, runs)
		f.observed(how.Watch, runs)
		if at.Run == 1 {
			if err := controls.rewriting(ctx, f, &o, runs); err != nil {
				return nil, err
			}
		}
	}
	if o.with != o.tree {
		f.All, at.With = o.with, true
		how := Job{Watch: o.presentLeft(), Next: more}
		if f.With, err = t.run(ctx, t.runner, o.with, at, how); err != nil {
			return nil, err
		}
		f.observed(how.Watch, f.With)
	}
	lacking := f.Replays[len(f.Replays)-1]
	if f.With != nil {
		lacking = f.With // what the claim brings is not missing
	}
	if f.Missing, err = t.missing(ctx, t.runner, o.with, lacking); err != nil {
		return nil, err
	}
	if commands := f.supporting(); slices.Contains(claim.Controls, Broken) && len(commands) > 0 {
		if err := controls.controls(ctx, f, &o, commands); err != nil {
			return nil, err
		}
	}
	if claim.Against != nil && f.OK() {
		err = t.against(ctx, f, o.tree)
	}
	return f, cmp.Or(err, even(ctx, t.heldTime+controls.heldTime)) // controls is a copy of t
}

// run runs every command once, each on its own checkout, as how says: held-out commands last, with their
// files.
func (t *trying) run(ctx context.Context, runner Runner, tree string, at Step, how Job) (runs []Run, err error) {
	shown, held := split(t.claim.Commands)
	last := how.Next
	how.Next = last || len(held) > 0
	if runs, err = t.each(ctx, runner, tree, shown, at, how); err != nil || len(held) == 0 {
		return runs, err
	}
	defer t.heldSince(time.Now())
	defer t.judged.only(t.judged.trees()) // the next run's commands find no file of these
	if tree, err = t.laid(ctx, tree); err != nil {
		return nil, err
	}
	how.Next = last
	more, err := t.each(ctx, runner, tree, held, at, how)
	return append(runs, more...), err
}

// each runs some of the commands. how's line precedes theirs.
func (t *trying) each(ctx context.Context, runner Runner, tree string, commands []Command, at Step, how Job) (runs []Run, err error) {
	job, err := t.judged.job(ctx, tree)
	if err != nil {
		return nil, fmt.Errorf("what is judged cannot be packed: %w", err)
	}
	runs = make([]Run, len(commands))
	err = t.inParallel(ctx, len(commands), func(ctx context.Context, i int) (late bool, err error) {
		c, job, at := commands[i], job, at
		at.Command, job.Line, job.Env, job.Watch, job.Guard, job.Keep = c, how.Line+c.Line, how.Env, how.Watch, how.Guard, how.Keep
		job.Anew, job.Checks = how.Anew, how.Checks
		if how.Word != "" {
			job.Line = telling(how.Word, job.Line)
		}
		job.Next = how.Next || i+1 < len(commands) || at.Note == before // after which it runs broken
		// The files that a held-out command opens would show what it checks.
		if c.Held {
			job.Watch, job.Guard, job.Checks = nil, nil, nil
		}
		outcome, err := t.claim.watch(ctx, runner, job, at)
		if err != nil {
			return false, fmt.Errorf("%s cannot be run: %w", c.Name, err)
		}
		runs[i] = Run{c, outcome}
		return outcome.all().End == TimedOut, nil
	})
	if err != nil {
		return nil, err
	}
	return runs, nil
}
