package bootstrap

import (
	"context"
	"fmt"
	"time"

	"git-ward/bootstrap/notices"
	"git-ward/bootstrap/signals"
	"git-ward/internal/diag"
	"git-ward/internal/failpoint"
	"git-ward/protocols/boot"
	"git-ward/protocols/comms"
)

// judge acts on the result of a run. It reports whether main's program died and must be run again to see
// whether it dies again.
func (w *watcher) judge(ctx context.Context, t *target, r run) (again bool) {
	if ctx.Err() != nil && !r.Booted { // it was not the target's fault
		w.abandon(t)
		return false
	}
	r.Signaled = w.handsOver(ctx, t, r)
	if r.Excess != nil {
		w.notices.Tell(guardNotice(r.Excess.Kind, *t, r.Excess.Text))
		w.trimLogs()
	}
	switch {
	case r.Time >= w.opts.Settings.Bootstrap.Check.Duration && r.Booted && r.Excess == nil:
		w.restarts.long()
		w.notices.Forget()
	case (r.Signaled || r.Stale) && r.Booted:
		w.restarts.hands(t.code)
	case t.hop == nil || r.Booted:
		w.restarts.short++
	}
	if !r.Booted {
		w.fail(t, r.Why)
	}
	death := w.counts(ctx, t, r)
	if r.died() && ctx.Err() == nil && !(w.opts.Once && w.over(t, r)) { // there its end is the launch's end
		w.tellDeath(t, r)
	}
	if death && w.state.Deaths.Count >= boot.MaxDeaths {
		w.fallBack(ctx, t, "ended again and again", r.Why)
	}
	if w.restarts.count() && !w.notices.Told(deathKind) { // otherwise the PM knows of the repeated ends
		w.notices.Tell(guardNotice("restarts", *t, fmt.Sprintf(
			"The agent was started more than %d times within an hour ([guard] restarts). It is started again, at most every %s; logs/errors.log says why it ends.",
			w.restarts.limit, w.restarts.maxPause)))
	}
	w.dir.Reserve()
	return death && w.state.Deaths.Count > 0
}

// handsOver reports whether a run ended because of the signal that it wrote: main's program
// for another existing one, or a branch's for another branch. Any other signal comes from an
// agent that dies or does nothing.
func (w *watcher) handsOver(ctx context.Context, t *target, r run) bool {
	if !r.Signaled || ctx.Err() != nil {
		return r.Signaled
	}
	w.signals.Take(w.accept)
	h := w.state.Hop
	if h == nil {
		return false
	}
	commit, err := w.find(ctx, h)
	if err != nil || commit == "" {
		return false
	}
	h.Commit = commit
	code, err := w.remote.Code(ctx, commit)
	return err == nil && (code != t.code || t.branch != boot.Main && h.branch() != t.branch)
}

// died reports whether an agent that was up ended badly without being asked to.
func (r run) died() bool {
	return r.Booted && !r.Signaled && !r.Stale && r.Excess == nil && !r.Status.OK()
}

// deathKind is the kind of incident in which an agent died.
const deathKind = "death"

// tellDeath tells the PM that an agent died. Repeated deaths by the same cause are one report with their
// number.
func (w *watcher) tellDeath(t *target, r run) {
	n := guardNotice(deathKind, *t, fmt.Sprintf(
		"The agent that ran from %s, commit %s, ended by itself after %s: %s. It is started again from %s, with growing pauses up to %s; logs/errors.log has its last words.",
		w.called(t.branch), diag.Short(t.commit), r.Time.Round(time.Second), diag.Clean(r.Why), w.called(boot.Main), w.restarts.maxPause))
	n.Code += " " + r.Status.String()
	n.Hold = true
	w.notices.Tell(n)
}

// abandon ends a start that the watcher's own end interrupted.
func (w *watcher) abandon(t *target) {
	if _, open := w.journal.Unfinished(); open {
		w.reportFailure(t.branch, t.commit, "the watcher was told to end")
	}
	if h := w.state.Hop; h != nil && !h.Started {
		w.tried(h, -1)
		w.state.save()
	}
}

// fail ends a failed start. After a failed signal main is next, and after main an earlier program of main.
func (w *watcher) fail(t *target, why string) {
	w.reportFailure(t.branch, t.commit, why)
	failpoint.Reach("bootstrap/failed")
	w.concludeFailure(t, why)
}

// fallen ends a signal's failed start, and tells the PM.
func (w *watcher) fallen(t *target, why string) {
	if h := t.hop; h.Attempts == 0 && h.Commit != "" { // the host's count was not adopted yet
		h.Attempts = boot.MaxCount
	}
	w.tried(t.hop, -t.hop.Attempts)
	w.state.Hop = nil
	w.notices.Tell(fallbackNotice("start "+t.hop.Name, *t, fmt.Sprintf(
		"The agent could not be started from %s, commit %s: %s. It runs from %s; logs/errors.log and logs/build.log say more.",
		w.called(t.hop.Name), diag.Short(t.commit), diag.Clean(why), w.called(boot.Main)))) // with it all is saved
}

// concludeFailure acts on a failed start that the log already has.
func (w *watcher) concludeFailure(t *target, why string) {
	w.trees.Forget(t.branch)
	if t.hop != nil {
		w.fallen(t, why)
		if t.branch != boot.Main || t.hop.Kind == signals.Rollback {
			return
		}
	}
	w.fallBack(context.Background(), t, "does not start", why)
}

func guardNotice(kind string, t target, text string) notices.Notice {
	return notices.Notice{Status: comms.Guard, Kind: kind, Code: t.code, Branch: t.branch, Text: text}
}

func fallbackNotice(kind string, t target, text string) notices.Notice {
	return notices.Notice{Status: comms.Fallback, Kind: kind, Code: t.code, Branch: t.branch, Text: text}
}
