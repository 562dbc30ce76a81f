package cycle

import (
	"context"
	"fmt"

	"git-ward/agent/stop"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// checkBudget is BUDGET_CHECK: it evaluates the last certificate. After an iteration of this
// run the policy may lead the unit elsewhere; when resuming, that has happened already, and
// the directive may have changed.
func (r *run) checkBudget(ctx context.Context) (loop.Decision, error) {
	last := *r.past.last
	if r.now.cert != nil {
		if d, err := r.branch(ctx, last); err != nil || d.Event != "" {
			return d, err
		}
	}
	if d, ends := r.decideRepeated(last); ends {
		return d, nil
	}
	return loop.Decide(r.findings(last.Iteration, nil, r.deps.Unit.Signals(ctx)), last), nil
}

// decideRepeated ends a loop whose Solver changed nothing and whose claim failed like the one
// before.
func (r *run) decideRepeated(last loop.Certificate) (d loop.Decision, ends bool) {
	if last.Type == loop.Exact || last.Type == loop.Converged || last.Type == loop.Diverged || !r.repeated() {
		return d, false
	}
	why := fmt.Sprintf("iteration %d changed nothing, and what decides fails as before", last.Iteration)
	if words := r.now.result.Words; words != "" {
		why += "; its last words: " + short(words)
	}
	return loop.Decision{Event: loop.InvariantBroken, Reason: loop.EvidenceIncomplete, Words: why}, true
}

// branch follows the policy if the review's outcome, or its low confidence, leads out of
// ACTIVE. A verdict that ends the loop has priority.
func (r *run) branch(ctx context.Context, last loop.Certificate) (loop.Decision, error) {
	review := r.now.review
	event, leads := r.deps.Journal.Last().Policy.Branch(review.Outcome, review.Confidence)
	if !leads || last.Type == loop.Exact || last.Type == loop.Converged || last.Type == loop.Diverged {
		return loop.Decision{}, nil
	}
	reason := uow.Reason("POLICY_BRANCH")
	if event == uow.RequestApproval && review.Outcome == "" {
		reason = "LOW_CONFIDENCE"
	}
	if d, err := r.step(ctx, uow.Input{Event: event, Reason: reason, Note: short(review.Outcome + " " + review.Diagnosis)}); err != nil || d.Event != "" {
		return d, err
	}
	return loop.Decision{}, stop.New(stop.Suspended, "the policy leads from the outcome %q to %s", review.Outcome, r.deps.Journal.Last().State)
}
