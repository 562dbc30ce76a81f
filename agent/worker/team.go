package worker

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"git-ward/agent/cycle"
	"git-ward/agent/interaction"
	"git-ward/agent/launch"
	"git-ward/agent/skeptic"
	"git-ward/agent/stop"
	"git-ward/agent/store"
	"git-ward/internal/diag"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// team works on a unit's iterations.
type team struct {
	solver  iterationSolver
	skeptic *skeptic.Skeptic
	policy  func() uow.Policy // of the unit as it stands

	subagents *cycle.Subagents // called for each one that begins
}

// iterationSolver works on iterations (cycle.Team).
type iterationSolver interface {
	Solve(ctx context.Context, b cycle.Brief, refusal string) (interaction.Done, error)
}

// Solve does the work of an iteration.
func (t *team) Solve(ctx context.Context, b cycle.Brief, refusal string) (interaction.Done, error) {
	return t.solver.Solve(ctx, b, refusal)
}

// Review asks the Skeptic, and names the outcomes that the policy's branches use. The Skeptic has no tools.
func (t *team) Review(ctx context.Context, b cycle.Brief, r cycle.Result) (cycle.Review, int, error) {
	ctx, end := t.subagents.Begin(ctx, "")
	defer end()
	review, err := t.skeptic.Review(ctx, b, r, slices.Sorted(maps.Keys(t.policy().Branches)))
	return review, 0, err
}

// iterationWork has a new solver for each iteration; a refusal goes to the one that did the
// work.
type iterationWork struct {
	solvers   *solvers
	subagents *cycle.Subagents
	launch    launch.Launch
	limits    loop.Limits
	last      func() *uow.Record // of the unit's journal
	watching  *watch             // called with each gate
	keeping   func(context.Context) (over func() (lost string), err error)

	number  int    // number of the current iteration
	current solver // nil before the first
}

// Solve works for as long as an iteration, and the launch, may take.
func (w *iterationWork) Solve(ctx context.Context, b cycle.Brief, refusal string) (interaction.Done, error) {
	if w.current == nil || w.number != b.Iteration || refusal == "" {
		gate := &interaction.Gate{MaxCalls: max(1, min(w.limits.MaxToolCallsPerIteration-b.Calls, b.Left.ToolCalls)), Guard: uow.NewGuard(w.last().Policy)}
		w.watching.begins(gate, w.last())
		w.number, w.current = b.Iteration, w.solvers.new(&iteration{number: b.Iteration, path: shown(b), capsule: b.Capsule, gate: gate})
	}
	told := ""
	if refusal == "" {
		var err error
		if told, err = w.current.Told(shown(b)); err != nil {
			return interaction.Done{}, err
		}
	}
	ctx, end := w.subagents.Begin(ctx, told)
	defer end()
	ctx, launched := w.launch.Context(ctx)
	defer launched()
	seconds, limit := w.limits.MaxSecondsPerIteration-b.Seconds, "the iteration's time is over (max_seconds_per_iteration)"
	if b.Left.Seconds < seconds {
		seconds, limit = b.Left.Seconds, "the loop's time is over (max_total_seconds)"
	}
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(max(1, seconds))*time.Second, stop.New(stop.Unfinished, "%s", limit))
	defer cancel()
	ctx, enough := context.WithCancelCause(ctx)
	defer enough(nil)
	w.watching.works(enough)
	defer w.watching.works(nil)
	kept, err := w.keeping(ctx)
	if err != nil {
		return interaction.Done{}, err
	}
	left := endStrays(ctx, w.solvers.log)
	done, err := w.current.Solve(ctx, refusal)
	fate := kept() // before anything makes a repository again, which removes the tree
	left()
	if fate != "" && err == nil {
		err = errGone
	}
	if over := stop.Of(context.Cause(ctx)); err != nil && over != nil {
		// If the launch's time is over, or the PM took the unit away, that counts before the
		// solver's own account.
		if over.Kind == stop.Spent || over.Kind == stop.Suspended || stop.As(err, stop.Unfinished, stop.Spent, stop.Blocked, stop.Denied, stop.Missing, stop.Asked) == nil {
			err = over
		}
	}
	if fate != "" {
		err = ofTree(err, fate)
	}
	return done, err
}

// shown is the path of an iteration's capsule in the working tree.
func shown(b cycle.Brief) string { return path.Join(record.Dir, b.CapsulePath) }

// startedWork is the work of a started branch: its result exists, or is not its own to make.
type startedWork struct {
	work   *store.Work
	launch launch.Launch
}

// Solve describes what was started. The error is stop.Suspended if more work is needed, which main does.
func (s *startedWork) Solve(ctx context.Context, b cycle.Brief, refusal string) (interaction.Done, error) {
	if same, err := s.work.HasCode(ctx, s.work.Base()); err != nil {
		return interaction.Done{}, err
	} else if same || refusal != "" {
		return interaction.Done{}, stop.New(stop.Suspended, "the rest is done from main")
	}
	return interaction.Done{Words: fmt.Sprintf("%s, commit %s, was built, validated and started.", s.launch.Branch, diag.Short(s.launch.Commit))}, nil
}
