package cycle

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"git-ward/agent/stop"
	"git-ward/agent/store"
	"git-ward/internal/diag"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// step appends to the journal, with the tool calls since the last record, and pushes it with
// the branch and the record. A refusal by the rules ends the loop by the decision, or suspends
// it if somebody else can change that.
func (r *run) step(ctx context.Context, in uow.Input) (loop.Decision, error) {
	d, refused, err := r.offer(ctx, in)
	if refused != nil {
		return broken("the evidence was refused: " + refused.Output), nil
	}
	return d, err
}

// offer is step for callers that can fix a branch or record that the remote refuses. Then refused is the
// reason, and no ref has moved.
func (r *run) offer(ctx context.Context, in uow.Input) (d loop.Decision, refused *stop.Stop, err error) {
	return r.offerWith(ctx, in, r.deps.Work)
}

// offerWith is offer with that Work, or none.
func (r *run) offerWith(ctx context.Context, in uow.Input, with ...*store.Work) (d loop.Decision, refused *stop.Stop, err error) {
	world, err := r.deps.Unit.World(ctx)
	if err != nil {
		return d, nil, err
	}
	err = r.deps.Journal.Append(ctx, []uow.Input{r.input(in)}, world, with...)
	if refused = stop.As(err, stop.Refused); refused == nil {
		if err == nil {
			if r.calls = 0; in.Note == "" {
				r.deps.Unit.Noted()
			}
		}
		return d, nil, err
	}
	for _, f := range refused.Findings {
		if strings.HasPrefix(f.Rule, "uow/") {
			d, err = r.inadmissible(in.Event, refused)
			return d, nil, err
		}
	}
	return d, refused, nil
}

// admits checks a step against the rules before anything is made for it.
func (r *run) admits(ctx context.Context, in uow.Input) (loop.Decision, error) {
	world, err := r.deps.Unit.World(ctx)
	if err != nil {
		return loop.Decision{}, err
	}
	if _, found := uow.Advance(r.deps.Journal.ID, r.deps.Journal.Last(), r.input(in), world); len(found) > 0 {
		var b strings.Builder
		diag.WriteText(&b, found)
		return r.inadmissible(in.Event, stop.Refuse(b.String(), found...))
	}
	return loop.Decision{}, nil
}

// input is a step of the agent's, now.
func (r *run) input(in uow.Input) uow.Input {
	in.Note = cmp.Or(in.Note, r.deps.Unit.Note())
	in.Actor, in.Time, in.Interactions = uow.Agent, r.deps.Now(), int64(r.calls)
	return in
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

// broken ends a loop that cannot continue by 003's rules.
func broken(why string) loop.Decision {
	return loop.Decision{Event: loop.InvariantBroken, Reason: loop.InvariantViolation, Words: why}
}

// spent is how many iterations all units of the directive's text have used.
func (r *run) spent() int { return int(r.deps.Journal.Last().Budget.Spent.Iterations) }

// overspent is why the budget is spent although Limits do not show it: a Solver's calls are no
// longer paid for, or the run's time is over.
func (r *run) overspent() string {
	if r.unpaid == "" {
		r.unpaid = r.deps.Unit.Over()
	}
	return r.unpaid
}

// spend writes the iteration to the budget log, once.
func (r *run) spend(iteration int) {
	if r.now.paid {
		return
	}
	r.now.paid = true
	r.past.budget = r.past.budget.Next(r.usage(iteration))
	r.past.budget.Limits = r.deps.Limits
}

// used is what the loop has used, the unfinished iteration included.
func (r *run) used() loop.Usage {
	if r.now.taken && !r.now.paid && r.inProgress() {
		return r.past.budget.Next(r.usage(r.now.brief.Iteration)).Used()
	}
	return r.past.budget.Used()
}

// usage is what the current iteration has used so far.
func (r *run) usage(iteration int) loop.Usage {
	u := loop.Usage{Iteration: iteration, ToolCalls: r.now.calls, Seconds: r.now.seconds + int(r.deps.Now().Sub(r.now.began).Seconds())}
	if t := r.now.tally; t.Usage.Input+t.Usage.Output > 0 {
		u.Model = &loop.ModelUsage{Turns: int64(t.Turns), Input: t.Usage.Input, Cached: t.Usage.Cached, Output: t.Usage.Output}
	}
	return u
}

// findings returns the input of an iteration's certificate.
func (r *run) findings(iteration int, v *loop.Verdict, signals []loop.Signal) loop.Findings {
	f := loop.Findings{Declaration: r.deps.Declaration, Limits: r.deps.Limits, Iteration: iteration, Spent: r.spent(), Used: r.past.budget.Used(),
		Verdict: v, Signals: signals, Over: r.overspent()}
	if last := r.past.last; last != nil && last.Iteration < iteration {
		f.History, f.Earlier = last.History, last.Earlier
	}
	return f
}
