package uow

import (
	"fmt"
	"strings"

	"git-ward/internal/diag"
)

// Line describes a unit on one line: its state, its remaining budget, and what it waits for by
// review.Stand.
func (r *Record) Line(w Waiting) string {
	left := r.Budget.Left()
	s := fmt.Sprintf("%s: %s, iteration %d, %d of %d iterations left", r.ID, r.Words(), r.Iteration, left.Iterations, r.Budget.Total.Iterations)
	if w.For != ForNobody {
		s += "; waits for " + w.String()
	}
	return s
}

// History is a journal as a table, oldest record first.
func History(records []*Record) string {
	var b strings.Builder
	for i, r := range records {
		what := string(r.Event)
		if r.Event == Iterate || r.Event == MakeClaim {
			what = fmt.Sprintf("%s %d", what, r.Iteration)
		}
		if r.Event == MakeClaim {
			what += " " + r.Claim.Commit[:12]
		}
		fmt.Fprintf(&b, "%4d  %s  %-5s  %-24s %-22s %s\n", i+1, r.Time, r.Actor, what, r.State, r.ReasonCode)
		for line := range strings.Lines(diag.Untrusted(r.Note).Lines()) {
			fmt.Fprintf(&b, "      %s\n", strings.TrimRight(line, "\n"))
		}
	}
	return b.String()
}

// Budgets is what a unit's directive has left, and the counters of the policy.
func (r *Record) Budgets() string {
	t, s := r.Budget.Total, r.Budget.Spent
	pulse := "none is due"
	if r.Policy.PilotPulse > 0 {
		pulse = fmt.Sprintf("%d of %d", r.Pulse, r.Policy.PilotPulse)
	}
	return fmt.Sprintf("spent        iterations %d of %d, claims %d of %d, pushes %d of %d (all units of this text of %s)\n"+
		"interactions %d, without progress %d of %d, since your last sign %s\nretries      %d of %d\n",
		s.Iterations, t.Iterations, s.Claims, t.Claims, s.Pushes, t.Pushes, r.Directive,
		r.Interactions, r.Calls, r.Policy.MaxInteractions, pulse, r.Retries, r.retryLimit())
}
