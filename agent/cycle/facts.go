package cycle

import (
	"context"

	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// forbidden checks 003's forbidden states (section 2.5) on entering a state or before an exit.
// It returns the first one's recovery, which ends the loop, or no decision.
func (r *run) forbidden(ctx context.Context, state loop.State, exit loop.Status) (loop.Decision, error) {
	facts, err := r.facts(ctx, state, exit)
	if err != nil {
		return loop.Decision{}, err
	}
	found := loop.Violations(facts)
	for _, f := range found {
		r.deps.Log.Error().Str("forbidden", f.Name).Str("state", string(state)).Str("exit", string(exit)).Msg(f.Definition)
	}
	if len(found) == 0 {
		return loop.Decision{}, nil
	}
	d := found[0].Recovery
	d.Words = found[0].Words()
	return d, nil
}

// facts collects what really exists: the evidence in the record's newest commit, whatever this
// process remembers.
func (r *run) facts(ctx context.Context, state loop.State, exit loop.Status) (loop.Facts, error) {
	last, files := r.deps.Journal.Last(), r.evidence(ctx)
	f := loop.Facts{State: state, Status: exit, Loop: r.deps.Declaration.LoopID, Limits: r.deps.Limits, Begun: int(last.Iteration) - r.past.ended}
	f.Spent = int(last.Budget.Spent.Iterations) - max(0, f.Begun)
	f.Prompts, f.Subagents = r.subagents.sinceLast()
	f.PM = append(uow.Words(r.deps.Journal.Records), r.deps.Work.Directive.Raw)

	plan := r.deps.Declaration // not written yet in DREAM_GOAL
	if state != loop.DreamGoal {
		plan = loop.Declaration{}
		if _, err := files.decode(r.top(loop.PlanFile), &plan); err != nil {
			r.deps.Log.Error().Err(err).Msg("the declaration cannot be read")
			plan = loop.Declaration{}
		}
	}
	f.Declared = plan.LoopID == r.deps.Declaration.LoopID && len(plan.Certificates) > 0
	var log loop.BudgetLog
	if _, err := files.decode(r.top(loop.BudgetFile), &log); err != nil {
		return f, err
	}
	if log.LoopID == r.deps.Declaration.LoopID {
		f.Used = log.Used()
	}
	var err error
	if r.past.last != nil {
		if f.Certificate, err = r.certificate(ctx, r.past.last.Iteration); err != nil {
			return f, err
		}
	}
	learnings, err := files.read(loop.LearningsPath)
	if err != nil {
		return f, err
	}
	f.Learnings = string(learnings)
	if len(f.Prompts) > 0 {
		f.Capsule, err = files.read(r.now.brief.CapsulePath)
	}
	return f, err
}
