package uow

import (
	"fmt"
	"strings"

	"git-ward/internal/diag"
)

// Line is a unit in one line: where it stands, what is left, what it waits for.
func (r *Record) Line() string {
	left := r.Budget.Left()
	s := fmt.Sprintf("%s %s, iteration %d, %d of %d iterations left", r.ID, r.State, r.Iteration, left.Iterations, r.Budget.Total.Iterations)
	if w := r.Waits(); w != "" {
		s += "; " + w
	}
	return s
}

// Waits says what a unit waits for the PM to do, with the command; "" when it
// waits for nobody.
func (r *Record) Waits() string {
	next := r.Next()
	switch {
	case r.State == PendingApproval && r.ReasonCode == question:
		return "waits for your answer: " + next + ", or edit the directive"
	case r.State == PendingApproval && r.ReasonCode == NeedInfo:
		return "waits for you: " + next
	case r.State == PendingApproval:
		return "waits for you: " + next + ", or edit the directive"
	case r.State == Paused:
		return "paused: " + next
	case r.State == ZombiedSoft && r.Retries >= r.Policy.MaxRetries:
		return "waits for you: " + next + " (or --deny)"
	case r.State == ZombiedSoft && r.ReasonCode.Passes():
		return "is tried again by itself: " + next + " does it now"
	case r.State == ZombiedSoft:
		return "waits for you: " + next + ", or edit the directive"
	case r.State == ZombiedDead:
		return "a dead letter: " + next + " after a fix"
	case r.State == Breached:
		return "somebody changed its journal: " + next
	case next != "":
		return "a sign of yours is due: " + next
	}
	return ""
}

// question is the reason of a unit whose worker asks; the record's note is what (WORK-1).
const question Reason = "QUESTION"

// Next is the one command by which a PM moves a unit that does not go on by itself, or
// not at once; "" for one that does. The report in COMMS.md, `git ward uow list`,
// `git ward status` and `git ward review` all name this one (WORK-2).
func (r *Record) Next() string {
	verb := map[State]string{PendingApproval: "approve", Paused: "resume", ZombiedSoft: "clarify -m TEXT", ZombiedDead: "fork", Breached: "show"}[r.State]
	switch {
	case r.State == Active && r.PulseDue():
		verb = "heartbeat"
	case r.State == PendingApproval && r.ReasonCode == NeedInfo:
		return "git ward directive edit " + r.Directive // an approval alone would not say what is missing
	case r.State == PendingApproval && r.ReasonCode == question:
		verb = "approve -m TEXT"
	case r.State == ZombiedSoft && r.Retries >= r.Policy.MaxRetries:
		verb = "waive"
	case r.State == ZombiedSoft && r.ReasonCode.Passes():
		verb = "retry"
	}
	if verb == "" {
		return ""
	}
	return "git ward uow " + verb + " " + r.ID
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
		r.Interactions, r.Calls, r.Policy.MaxInteractions, pulse, r.Retries, r.Policy.MaxRetries)
}
