package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"time"

	"git-ward/bootstrap/signals"
	"git-ward/bootstrap/supervisor"
	"git-ward/internal/diag"
	"git-ward/internal/failpoint"
	"git-ward/protocols/boot"
)

// reportFailure writes a failed start, or a failed signal, to bootstrap.log and to the
// watcher's own log.
func (w *watcher) reportFailure(branch, commit, reason string) {
	w.logEvent(boot.Failure, branch, commit, reason, w.journal.Append(boot.Failure, branch, commit, reason))
}

// logEvent writes an event of bootstrap.log to the watcher's own log, with the error that
// caused it.
func (w *watcher) logEvent(event boot.Event, branch, commit, reason string, err error) {
	w.log.Info().Str("branch", branch).Str("commit", commit).Str("reason", reason).Msg(string(event))
	if err != nil {
		w.log.Error().Err(err).Msg("bootstrap.log cannot be written")
	}
}

// recover completes what a killed watcher left unfinished. A start without a logged end counts as failed,
// and main is next. If the end was logged, recover does what the killed watcher would have done after it.
// A hop that was not begun is continued.
func (w *watcher) recover(ctx context.Context) {
	const why = "the watcher ended while it started"
	e, open := w.journal.Unfinished()
	if open {
		w.reportFailure(e.Branch, e.Commit, why)
	}
	h := w.state.Hop
	if h == nil || !h.Started {
		return
	}
	t := &target{branch: h.branch(), commit: h.Commit, hop: h}
	t.code, _ = w.remote.Code(ctx, t.commit) // names an incident
	switch end := w.journal.Last(t.branch, t.commit); {
	case open:
		w.fallen(t, why)
	case end.Event == boot.Success:
		w.arrived(t, "What it left behind, if anything, is on a branch of rescue/.")
	case end.Event == boot.Failure:
		w.concludeFailure(t, end.Reason)
	default: // the log was rotated meanwhile, or is not writable
		w.concludeFailure(t, "the watcher ended, and logs/bootstrap.log does not say what became of that start")
	}
}

// loop starts the targets, one after another.
func (w *watcher) loop(ctx context.Context) (code int, err error) {
	for {
		w.signals.Take(w.accept)
		w.notices.Deliver(ctx)
		t, err := w.next(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return 0, nil
			}
			if w.opts.ends() {
				return 0, err
			}
			w.log.Error().Str("error", explain(err)).Msg("nothing can be started")
			w.restarts.short++
		}
		var r run
		var pin *pin
		var again bool
		if t != nil {
			r = w.start(ctx, t)
			pin = w.state.Pin
			again = w.judge(ctx, t, r) && w.opts.Directive != "" // it is reported here, so it need not cost the directive a worker
		}
		if ctx.Err() != nil {
			return r.code, nil
		}
		fell := w.state.Pin != nil && w.state.Pin != pin
		if w.opts.ends() && t != nil && !fell && !again && w.over(t, r) {
			w.notices.Flush(ctx)
			if r.Excess != nil { // the guard ended it, whatever its exit code says
				r.code = max(r.code, 1)
			}
			return r.code, nil
		}
		if !w.pause(ctx) {
			return 0, nil
		}
	}
}

// over reports whether this was the last run of a watcher that runs once: no signal, fallback or restart
// by the guard is pending. With a directive, the launcher decides after a guard's end, because a directive
// that exceeds limits each time would keep its slot from all others.
func (w *watcher) over(t *target, r run) bool {
	if r.Signaled || r.Stale || r.Excess != nil && w.opts.Directive == "" || t.hop != nil && !r.Booted || w.state.Hop != nil {
		return false
	}
	return r.Booted || w.state.Pin == nil || t.pinned
}

// pause waits before the next start. A signal or a move of the PM's branches ends the wait. It returns
// false if ctx has ended.
func (w *watcher) pause(ctx context.Context) bool {
	wait := w.restarts.pause()
	if wait == 0 {
		return ctx.Err() == nil
	}
	w.log.Info().Str("pause", wait.String()).Int("short_runs", w.restarts.short).Msg("before the next start")
	branches := w.remote.Watch(w.remote.Main, w.remote.Control)
	end := time.NewTimer(wait)
	defer end.Stop()
	look := time.NewTicker(supervisor.LookEvery)
	defer look.Stop()
	notify := w.notify
	for {
		select {
		case <-ctx.Done():
			return false
		case <-end.C:
			return true
		case <-notify:
			notify = nil // at most once per check, because there may be very many
		case <-look.C:
			notify = w.notify
			w.notices.Deliver(ctx)
		}
		if w.signals.Waiting() || branches.Moved() {
			return true
		}
	}
}

// explain adds a hint to an error for the log.
func explain(err error) string {
	if hinted, ok := errors.AsType[*diag.Hinted](err); ok {
		return err.Error() + "; " + hinted.Hint
	}
	return err.Error()
}

// accept makes a waiting signal the next hop, and saves that.
func (w *watcher) accept(s signals.Signal, again bool) {
	h := w.state.Hop
	switch {
	case h != nil && again: // the saved hop is this signal
		return
	case h != nil && (s.Kind == h.Kind || s.Kind == signals.Bootstrap):
		w.reportFailure(s.Name, boot.Unknown, fmt.Sprintf("the signal %s came together with %s, which goes first", s.Kind, h.Signal))
		return
	}
	w.log.Info().Str("signal", s.Kind).Str("name", s.Name).Msg("a signal")
	if s.Name == w.opts.Settings.Control.Project {
		s.Name = boot.Main
	}
	if h != nil {
		w.tried(h, -h.Attempts)
	}
	w.state.Hop = &hop{Signal: s}
	w.state.save()
	failpoint.Reach("bootstrap/accepted")
}

// maxSignalName bounds the name of a malformed signal in reports, in bytes.
const maxSignalName = 80

// refused reports a malformed signal to the log.
func (w *watcher) refused(name string, why error) {
	name = diag.Clean(name[:min(len(name), maxSignalName)])
	w.reportFailure(boot.Unknown, boot.Unknown, "malformed signal "+name+": "+why.Error())
	w.notices.Tell(guardNotice("signal", target{}, fmt.Sprintf("The agent wrote a malformed signal `%s`: %v. It is removed.", name, why)))
}
