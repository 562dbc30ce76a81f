package worker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"git-ward/agent/stop"
	"git-ward/agent/store"
	"git-ward/internal/diag"
	"git-ward/protocols/comms"
	"git-ward/protocols/uow"
)

// timeSpent is why the work on a directive ends when the launch's time is spent.
// The launcher stops everything [budget] grace later: what lies between is for
// claims, reports and closing steps (UOW-3).
const timeSpent = "the time of this launch, [budget] time, is spent"

// over reports whether the launch's time is spent.
func (a *agent) over() bool {
	return !a.Start.Until.IsZero() && !time.Now().Before(a.Start.Until)
}

// overdue is over, in words; "" while it is not.
func (a *agent) overdue() string {
	if a.over() {
		return timeSpent
	}
	return ""
}

// timed is a context for a worker: its cause is stop.Spent then.
func (a *agent) timed(ctx context.Context) (context.Context, context.CancelFunc) {
	if a.Start.Until.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, a.Start.Until, stop.New(stop.Spent, timeSpent))
}

// patience is how long a verdict may be waited for, at most as long as is given.
// Half of the grace is left for what follows it.
func (a *agent) patience(most time.Duration) time.Duration {
	if a.Start.Until.IsZero() {
		return most
	}
	return min(most, time.Until(a.Start.Until.Add(a.Config.Budget.Grace.Duration/2)))
}

// mayBegin reports whether a directive may be taken up: when the launch's time is
// spent, only one whose work was begun and has to come to its end. Of any other
// nothing is lost, and the next launch has time of its own.
func (a *agent) mayBegin(ctx context.Context, d comms.Directive) (bool, error) {
	if !a.over() {
		return true, nil
	}
	if !a.Config.Agent.Loop {
		return false, nil
	}
	journals, err := a.store.Journals(ctx, d.Name())
	if err != nil || len(journals) == 0 {
		return false, err
	}
	return begun(journals[len(journals)-1], d), nil
}

// begun reports whether a unit is in the middle of an iteration, or has ended and
// is not put away yet. One that the PM made ACTIVE again after its last step waits
// for the next launch: it would be ended at once.
func begun(j *store.Journal, d comms.Directive) bool {
	last := j.Last()
	if last.DirectiveHash != d.Hash() || last.State.Ended() {
		return last.DirectiveHash == d.Hash()
	}
	for _, r := range slices.Backward(j.Records) {
		if r.Event != uow.Heartbeat {
			return last.State == uow.Active && (r.Event == uow.Iterate || r.Event == uow.MakeClaim)
		}
	}
	return false
}

// leftOpen is the error of a pass that the launch's time was too short for.
func (a *agent) leftOpen(doc *comms.Document) error {
	open := doc.Open()
	if !a.over() || len(open) == 0 {
		return nil
	}
	var names []string
	for _, d := range open {
		names = append(names, d.Name())
	}
	return diag.Hint(fmt.Errorf("%s; still open: %s", timeSpent, strings.Join(names, ", ")), "the next launch takes them up, with time of its own")
}
