package cycle

import (
	"context"
	"fmt"
	"strings"

	"git-ward/agent/stop"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// checkNull is NULL_CHECK: a loop without a goal, a criterion or a declared
// certificate does not begin (LOOP-1).
func (r *run) checkNull(context.Context) (loop.Decision, error) {
	if missing := r.deps.Declaration.Missing(); len(missing) > 0 {
		return loop.Decision{Event: loop.NullDetected, Reason: loop.NeedReason(missing), Words: "something is missing"}, nil
	}
	return loop.Decision{Event: loop.InputsDefined}, nil
}

// declare is DREAM_GOAL: it writes plan.json and the loop's section of LEARNINGS.md,
// once. They are pushed with the first iteration's capsule.
func (r *run) declare(ctx context.Context) (loop.Decision, error) {
	top := loop.Dir(r.deps.Work.Directive.Name()) + "/"
	plan, err := loop.Encode(r.deps.Declaration)
	if err != nil {
		return loop.Decision{}, err
	}
	learnings, err := r.deps.Work.File(ctx, loop.LearningsPath)
	if err != nil {
		return loop.Decision{}, err
	}
	files := map[string][]byte{
		top + loop.PlanFile: plan,
		loop.LearningsPath:  []byte(loop.StartLoop(string(learnings), r.deps.Declaration, r.deps.Now().UTC().Format("2006-01-02"))),
	}
	if len(r.deps.Limits.Reductions) > 0 {
		files[top+loop.ReductionFile] = []byte(strings.Join(r.deps.Limits.Reductions, "\n") + "\n")
	}
	err = r.deps.Work.Commit(ctx, "loop: "+r.deps.Declaration.LoopID+" declares its goal and how it may halt", files)
	return loop.Decision{Event: loop.PlanWritten}, err
}

// spawn is SPAWN_SUBAGENT: the iteration begins in the journal, its capsule is
// built, and the Solver works on it.
func (r *run) spawn(ctx context.Context) (loop.Decision, error) {
	if !r.inProgress() {
		if d, err := r.begin(ctx); err != nil || d.Event != "" {
			return d, err
		}
	}
	if d, err := r.takeUp(ctx); err != nil || d.Event != "" {
		return d, err
	}
	return loop.Decision{Event: loop.SubagentOutput}, r.solve(ctx, "")
}

// begin begins an iteration in the journal, where nothing says stop. Before all but
// the first one BUDGET_CHECK has looked.
func (r *run) begin(ctx context.Context) (loop.Decision, error) {
	if len(r.past.certs) == 0 {
		if signals := r.deps.Signals(ctx); len(signals) > 0 {
			return loop.Decision{Event: loop.Backpressure, Reason: loop.BackpressureSignal, Words: signals[0].Words()}, nil
		}
		if over := r.overspent(); over != "" { // nothing is begun, so nothing has to end
			return loop.Decision{}, stop.New(stop.Suspended, "%s", over)
		}
	}
	return r.step(ctx, uow.Input{Event: uow.Iterate, Reason: "ITERATION_STARTED"})
}

// takeUp makes the iteration in progress the one at hand, with its capsule from
// what is committed (LOOP-3).
func (r *run) takeUp(ctx context.Context) (loop.Decision, error) {
	n := r.number()
	if r.now.taken && r.now.brief.Iteration == n {
		return loop.Decision{}, nil
	}
	r.now = iteration{taken: true, began: r.deps.Now(), brief: Brief{Iteration: n, CapsulePath: r.path(n, loop.CapsuleFile)}}
	have, err := r.deps.Work.File(ctx, r.now.brief.CapsulePath)
	if err != nil {
		return loop.Decision{}, err
	}
	if have != nil { // a run that was killed has written it: it may not change
		r.now.brief.Capsule = have
		return loop.Decision{}, nil
	}
	return r.writeCapsule(ctx)
}

func (r *run) writeCapsule(ctx context.Context) (loop.Decision, error) {
	learnings, err := r.deps.Work.File(ctx, loop.LearningsPath)
	if err != nil {
		return loop.Decision{}, err
	}
	b := &r.now.brief
	sources := loop.Sources{Declaration: r.deps.Declaration, Limits: r.deps.Limits, Iteration: b.Iteration, Spent: r.spent() - 1,
		Used: r.past.budget.Used(), Learnings: string(learnings), Manifest: r.past.manifest}
	if n := len(r.past.certs); n > 0 {
		sources.Last = &r.past.certs[n-1]
	}
	capsule, compaction, found := loop.Build(sources)
	if len(found) > 0 {
		return broken("the capsule may not hold: " + strings.Join(found, "; ")), nil
	}
	b.Capsule = append(capsule, '\n')
	files := map[string][]byte{b.CapsulePath: b.Capsule}
	if compaction != "" {
		files[loop.Dir(r.deps.Work.Directive.Name())+"/"+loop.CompactionFile] = []byte(compaction + "\n")
	}
	// Pushed at once: a worker that begins anew has what the remote has.
	return r.save(ctx, fmt.Sprintf("loop: iteration %d begins", b.Iteration), files)
}

// solve lets the Solver work, where somebody pays for it. That it was stopped, or
// failed, is a result like any other: what it has so far is collected.
func (r *run) solve(ctx context.Context, refusal string) error {
	words, calls, err := r.askSolver(ctx, refusal)
	r.count(calls)
	r.now.result.Words = words
	stopped := stop.As(err, stop.Unfinished, stop.Spent, stop.Blocked)
	r.now.stopped = stopped != nil
	if stopped == nil {
		return err
	}
	r.now.result.Words = stopped.Why
	if stopped.Kind == stop.Spent {
		r.unpaid = strings.TrimSuffix(stopped.Why, ".")
	}
	return nil
}

func (r *run) askSolver(ctx context.Context, refusal string) (words string, calls int, err error) {
	if over := r.overspent(); over != "" {
		return "", 0, stop.New(stop.Spent, "%s", over)
	}
	team, err := r.assemble(ctx)
	if err != nil {
		return "", 0, err
	}
	return team.Solve(ctx, r.now.brief, refusal)
}

// assemble is the team, made when it is first wanted.
func (r *run) assemble(ctx context.Context) (Team, error) {
	if r.team != nil {
		return r.team, nil
	}
	var err error
	r.team, err = r.deps.Team(ctx)
	return r.team, err
}

// count notes uses of tools.
func (r *run) count(calls int) {
	r.calls += calls
	r.now.calls += calls
}
