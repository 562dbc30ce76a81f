// Package verifier runs the commands of a claim elsewhere: on main with the claim's work, and
// on all of the claim, each command on a clean checkout in a fresh container without network,
// door or gateway (LOOP-5, PROOF-1). It reports what happened; protocols/loop decides what
// that means.
//
// What it says is no more than this: these commands, in this image, ended so on
// this commit. Code can still cheat its own tests, which is why the PM merges by
// default.
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
	// Progress, if any, is told when a command starts and when it has ended, one after
	// the other and never at once.
	Progress func(Step)
	// Redact, if any, takes secrets out of what is told of a command's output (SEE-1).
	Redact   func(string) string
	Cache    string   // what there is of a cache, for Facts
	Against  *Against // nil: plain runs will do
	Controls []string // of the commands that hold, such as Broken
	Ends     *Ends    // of commands without the work, that are kept; nil: none are
	Alone    bool     // no command runs beside another, not for a control either
	// Breaks is a line for the shell that has the project's tests fail, beside what Broken does;
	// "" for none.
	Breaks string
	// Held are files that lie in the tree for the commands that are held out, and for no other.
	Held []File
	// Scratch is a directory for what a verification makes, which whoever has it removes
	// should this process be killed; "" for the system's own.
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
	// Own marks what the claimed tree says of itself: the programs that it runs are
	// the tree's own, and not main's.
	Own bool `json:"own,omitzero"`
	// Held marks what the PM holds out: neither its line nor what it prints is shown, and its
	// outcome says no more than whether it was met (PROOF-5).
	Held bool `json:"held,omitzero"`
	// Residual marks what prints the distance to the goal, which holds it where that is 0, or
	// less than Below, a decimal, where that will do. Then only those commands need be met
	// besides that are a Must.
	Residual bool   `json:"residual,omitzero"`
	Below    string `json:"below,omitzero"`
	Must     bool   `json:"must,omitzero"`
}

// Shown is the line as people and agents see it.
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
	// Observed is of the first run, and, of what was left out, of the run with all of the claim. What
	// a command opens that is held out is not among it. Its texts are as git and the runners have them.
	loop.Observed
	// Code says that the work has programs' texts, which can run in their tests' process.
	Code    bool    `json:"code"`
	Same    bool    `json:"same,omitzero"` // nothing of Base is changed: neither work nor what was left out
	Tree    string  `json:"tree"`          // that decides, on which Replays ran: Base's with the work
	Image   string  `json:"image"`         // empty: none
	Fence   string  `json:"fence"`         // podman/RUNTIME, or none
	Replays [][]Run `json:"replays"`
	Apart
	// All is the tree of the whole claim, and With a run of all commands on it; "" and nil
	// where that is Tree.
	All  string `json:"all,omitempty"`
	With []Run  `json:"with,omitempty"`
	// Against are the runs that a rung asks for besides, Mutants what became of changes to
	// the claim's lines, Surface what it shows to others, and NotDone what could not be done.
	Against []AgainstRun  `json:"against,omitempty"`
	Mutants *Mutants      `json:"mutants,omitempty"`
	Surface *loop.Surface `json:"surface,omitempty"`
	NotDone []string      `json:"not_done,omitempty"`
	// Controls are what the claim's came to, where all was met.
	Controls []Control `json:"controls,omitempty"`
	// Missing is a program that main's own words run and that is not where they run:
	// no work on the claim would help. nil where none was missed.
	Missing *Missing `json:"missing,omitempty"`
	// Cache is what the commands had of main's dependencies, and what the claim has
	// otherwise (LOOP-12); "" for nothing.
	Cache string `json:"cache,omitempty"`
	// Unfit is why nothing was run: the commit cannot be judged.
	Unfit string `json:"unfit,omitempty"`
}

// OK reports whether every command of every run was met, and none is known that cannot fail.
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

// supporting are the commands on which the claim's word rests: all, where all was met in every
// run, and else the residual with what must be met, where it is low enough. What a tree says
// of itself is not among them.
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

// Runner runs one command on a checkout that nothing else has touched.
type Runner interface {
	// Run fails only when the command could not be run; how it ended is an
	// Outcome.
	Run(ctx context.Context, job Job) (Outcome, error)
	// Fence is "podman/RUNTIME" or "none", and the image, if any.
	Fence() (fence, image string)
}

// Job is one line for the shell and what it runs on: Commit of a repository that has no
// other, checked out.
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

// Verify runs every command of a claim, each on its own checkout, and once more for each
// replay: on main with the work, which decides, and once on all of the claim, where that is
// another tree (PROOF-1). *Unfit is a commit that cannot be judged, today or tomorrow.
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
	// What is made of the agent's commits is nothing that the repository keeps: no ledger
	// would count it (GATE-6). Nor does a command read it: what is held out is among it.
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
	// company asks for room for a second run at a time; nil where none may run beside another.
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

// run is every command once, each on a checkout of its own, as how has it: what is held out
// last, with its files.
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

// each is run for some of the commands. how's line comes before theirs.
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
		// What one opens that is held out says what it asks for.
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
