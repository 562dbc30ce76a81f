package bootstrap

import (
	"context"
	"fmt"
	"time"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/protocols/boot"
)

// exit is the watcher's own end for a run's.
func (r run) exit() error {
	if r.code == 0 {
		return nil
	}
	return cli.ExitCode(r.code)
}

// judge draws the conclusions of a run.
func (w *watcher) judge(ctx context.Context, t *target, r run) {
	if ctx.Err() != nil && !r.booted { // it was not the target's fault
		if _, open := w.journal.unfinished(); open {
			w.report(boot.Failure, t.branch, t.commit, "the watcher was told to end")
		}
		if h := w.state.Hop; h != nil && !h.Started {
			h.Attempts--
			w.save()
		}
		return
	}
	if r.notice != nil {
		r.notice.Branch, r.notice.Code = t.branch, t.code
		w.tell(*r.notice)
		w.trimLogs()
	}
	steady := w.Settings.Bootstrap.Check.Duration
	switch {
	case r.time >= steady && r.booted:
		w.brief = 0
		if r.notice == nil && len(w.state.Told) > 0 {
			clear(w.state.Told)
			w.save()
		}
	case r.signaled && r.booted:
	case t.hop == nil:
		w.brief++
	}
	if !r.booted {
		w.fail(t, r.why)
	}
	w.countStarts(t)
	w.spare.hold()
}

// fail is the end of a start that came to nothing: after a signal main is next,
// and after main the last commit of main that started.
func (w *watcher) fail(t *target, why string) {
	w.report(boot.Failure, t.branch, t.commit, why)
	delete(w.state.Built, t.branch)
	if t.hop != nil {
		w.state.Hop = nil
		w.tell(notice{Status: "FALLBACK", Kind: "start " + t.hop.Name, Code: t.code, Branch: t.branch,
			Text: fmt.Sprintf("The agent could not be started from %s, commit %s: %s. It runs from main; logs/errors.log and logs/build.log say more.",
				t.hop.Name, diag.Short(t.commit), diag.Clean(why))})
		w.save()
		if t.branch != boot.Main || t.hop.Kind == rollback {
			return
		}
	}
	if t.pinned { // try main again; what kept it from starting may be gone
		w.state.Pin = nil
		w.save()
		return
	}
	ctx := context.Background()
	good, err := w.remote.commit(ctx, lastGoodRef)
	if err != nil || good == "" {
		return
	}
	code, err := w.remote.code(ctx, good)
	if err != nil || code == t.code {
		return
	}
	w.state.Pin = &pin{Ref: "last-good", Commit: good, Main: t.code, Fallback: true}
	w.tell(notice{Status: "FALLBACK", Kind: "main", Code: t.code, Text: fmt.Sprintf("The agent does not start from main, commit %s: %s. It runs from the last commit that started, %s, until the code of main moves.",
		diag.Short(t.commit), diag.Clean(why), diag.Short(good))})
	w.save()
}

// countStarts tells the PM of an agent that is started again and again.
func (w *watcher) countStarts(t *target) {
	now := time.Now()
	w.starts = append(w.starts, now)
	for len(w.starts) > 0 && now.Sub(w.starts[0]) > time.Hour {
		w.starts = w.starts[1:]
	}
	if n := w.Settings.Guard.Restarts; len(w.starts) > n {
		w.starts = w.starts[len(w.starts)-n-1:]
		w.tell(notice{Status: "GUARD", Kind: "restarts", Code: t.code, Branch: t.branch, Text: fmt.Sprintf(
			"The agent was started more than %d times within an hour ([guard] restarts). It is started again, at most every %s; logs/errors.log says why it ends.", n, w.Settings.Bootstrap.Check.Duration)})
	}
}
