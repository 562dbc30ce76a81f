package cycle

import (
	"context"
	"fmt"

	"git-ward/agent/stop"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// step appends to the journal, with the calls since the last record. What the
// rules do not admit ends the loop, by the decision, or suspends it where that is
// for somebody else to change.
func (r *run) step(ctx context.Context, in uow.Input) (loop.Decision, error) {
	world, err := r.deps.World(ctx)
	if err != nil {
		return loop.Decision{}, err
	}
	in.Actor, in.Time, in.Interactions = uow.Agent, r.deps.Now(), int64(r.calls)
	err = r.deps.Journal.Append(ctx, in, world)
	if refused := stop.As(err, stop.Refused); refused != nil {
		return r.inadmissible(in.Event, refused)
	}
	if err == nil {
		r.calls = 0
	}
	return loop.Decision{}, err
}

func (r *run) inadmissible(event uow.Event, refused *stop.Stop) (loop.Decision, error) {
	why := fmt.Sprintf("the unit %s takes no %s: %s", r.deps.Journal.ID, event, refused.Output)
	for _, f := range refused.Findings {
		switch f.Rule {
		case "uow/budget":
			return loop.Decision{Event: loop.BudgetExhausted, Reason: loop.MaxIters, Words: why}, nil
		case "uow/ambiguity":
			r.block = "AMBIGUITY_LOCK"
			return broken(why), nil
		}
	}
	return loop.Decision{}, stop.New(stop.Suspended, "%s", why)
}

// save commits and pushes evidence. The remote refuses none of it unless something
// is broken, which ends the loop by the decision.
func (r *run) save(ctx context.Context, subject string, files map[string][]byte) (loop.Decision, error) {
	if err := r.deps.Work.Commit(ctx, subject, files); err != nil {
		return loop.Decision{}, err
	}
	err := r.deps.Work.Offer(ctx)
	if refused := stop.As(err, stop.Refused); refused != nil {
		// Or it would go along with the next push.
		return broken("the evidence was refused: " + refused.Output), r.deps.Work.Restart(ctx)
	}
	return loop.Decision{}, err
}

// broken ends a loop that cannot go on as 003 wants it.
func broken(why string) loop.Decision {
	return loop.Decision{Event: loop.InvariantBroken, Reason: loop.InvariantViolation, Words: why}
}

// spent is how many iterations the directive's text has used, in all its units.
func (r *run) spent() int { return int(r.deps.Journal.Last().Budget.Spent.Iterations) }

// overspent is why the budget is spent where Limits do not say so: a Solver was
// not paid for any more, or the run's time is over.
func (r *run) overspent() string {
	if r.unpaid == "" {
		r.unpaid = r.deps.Over()
	}
	return r.unpaid
}

// spend puts the iteration's line into the budget log, once.
func (r *run) spend(iteration int) {
	log := &r.past.budget
	for _, u := range log.Iterations {
		if u.Iteration == iteration {
			return
		}
	}
	log.Iterations = append(log.Iterations, loop.Usage{Iteration: iteration, ToolCalls: r.now.calls, Seconds: int(r.deps.Now().Sub(r.now.began).Seconds())})
}

// findings is what a certificate of the iteration is decided on.
func (r *run) findings(iteration int, v *loop.Verdict, signals []loop.Signal) loop.Findings {
	f := loop.Findings{Declaration: r.deps.Declaration, Limits: r.deps.Limits, Iteration: iteration, Spent: r.spent(), Used: r.past.budget.Used(),
		Verdict: v, Signals: signals, Over: r.overspent()}
	for _, c := range r.past.certs {
		if c.Iteration < iteration {
			f.History = append(f.History, c.Residual)
		}
	}
	return f
}
