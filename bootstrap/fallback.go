package bootstrap

import (
	"context"
	"fmt"
	"slices"

	"git-ward/bootstrap/signals"
	"git-ward/internal/diag"
	"git-ward/protocols/boot"
)

// maxBad bounds the list of programs that were replaced.
const maxBad = 20

// counts records how a run of main's own program ended, and reports whether it counts as a
// death. A program died if it ended unasked while it was up, before [bootstrap] check, or if a
// guard ended it for its own use of resources, however late: a leak takes time. A good end
// takes off half a death, so a program that dies every second time still reaches
// boot.MaxDeaths, and one that rarely dies never does. To answer that it is up proves only
// that it started. A handover of a program that had to be ended, or ended badly, counts until
// its target has started. A guard's end because of what the agent ran, such as a directive's
// build, counts neither way: another program would have ended, too.
func (w *watcher) counts(ctx context.Context, t *target, r run) (death bool) {
	if ctx.Err() != nil || !t.own || t.branch != boot.Main || !r.Booted || r.Stale || r.Signaled && r.Status.OK() && !w.inVain(w.state.Hop) {
		return false
	}
	if r.Excess != nil && !r.Excess.Own {
		return false
	}
	d := &w.state.Deaths
	defer w.state.save()
	w.takeCount(ctx, d, boot.Deaths, t)
	if r.Excess == nil && (r.Time >= w.opts.Settings.Bootstrap.Check.Duration || w.opts.ends() && !r.Signaled && r.Status.OK()) {
		w.count(d, boot.Deaths, -boot.AGoodEnd)
		return false
	}
	w.count(d, boot.Deaths, boot.ADeath)
	if w.state.Hop != nil {
		w.state.Hop.Counted = r.Signaled
	}
	return true
}

// inVain reports whether a hop asks for a program that, according to bootstrap.log, has already failed to
// start boot.MaxFailures times.
func (w *watcher) inVain(h *hop) bool {
	return h != nil && w.journal.Failures(h.branch(), h.Commit) >= boot.MaxFailures
}

// fallBack pins the newest program of main that held and has not failed since, in place of the
// failing one. If there is none, main is tried again, because the cause may be gone. The same
// holds after a rollback.
func (w *watcher) fallBack(ctx context.Context, t *target, what, why string) {
	defer w.state.save()
	p, main := w.state.Pin, t.code
	died := w.state.Deaths
	if w.state.Deaths = (deaths{}); !t.pinned || p != nil && !p.Fallback {
		w.count(&died, boot.Deaths, -died.Count)
	} // otherwise the next container, which does not know of the failure, would start it again
	pinned := t.pinned || t.hop != nil && t.hop.Kind == signals.Rollback
	if pinned {
		w.unpin()
		main = t.main
		if pinned = t.code != main; pinned && p != nil && !p.Fallback { // otherwise main's own program runs
			return
		}
	}
	w.state.Bad = remember(w.state.Bad, t.code, maxBad)
	w.state.Proved = slices.DeleteFunc(w.state.Proved, func(code string) bool { return code == t.code })
	good := w.earlier(ctx, main)
	if good == "" {
		w.state.Bad = nil
		w.count(&died, boot.Deaths, -died.Count)
		if fallen, code := w.gaveWay(ctx); code == main {
			fmt.Fprintln(w.opts.Stdout, boot.Again+fallen)
		}
		return
	}
	if h := w.state.Hop; h != nil { // the failed program asked for it
		w.tried(h, -h.Attempts)
		w.state.Hop = nil
		w.reportFailure(h.branch(), boot.Unknown, fmt.Sprintf("%s: what asked for it %s", h.Signal, what))
	}
	w.state.Pin = &pin{Ref: "last-good", Commit: good, Main: main, Fallback: true}
	if !pinned {
		fmt.Fprintln(w.opts.Stdout, boot.FellBack+t.commit)
	}
	w.tellFallBack(t, what+" from "+w.called(boot.Main)+", commit "+diag.Short(t.commit)+": "+diag.Clean(why), t.commit, good)
}

// mainKind is the kind of incident in which main's program was replaced.
const mainKind = "main"

// tellFallBack tells the PM that another commit's program runs in place of the failing one:
// once for all watchers that do the same.
func (w *watcher) tellFallBack(t *target, what, fallen, good string) {
	n := fallbackNotice(mainKind, *t, fmt.Sprintf("The agent %s. It runs from the last commit that held, %s, until the code of %s moves; logs/errors.log says more.",
		what, diag.Short(good), w.called(boot.Main)))
	n.Branch, n.ID = "", "gave way: "+diag.Short(fallen) // the incident belongs to no directive
	w.notices.Tell(n)
}

// earlier returns the commit of the newest program of main that held, differs from main's present one, and
// has not failed since; "" if there is none.
func (w *watcher) earlier(ctx context.Context, main string) string {
	return w.held(ctx, func(code string) bool { return code != main && !slices.Contains(w.state.Bad, code) })
}

// gaveWay returns the commit of main whose program failed under any watcher, according to the host, and that
// program's code; "" if none did.
func (w *watcher) gaveWay(ctx context.Context) (commit, code string) {
	commit, err := w.remote.Commit(ctx, boot.Fallen)
	if err == nil && commit != "" {
		code, err = w.remote.Code(ctx, commit)
	}
	if err != nil {
		w.log.Error().Err(err).Msg("what gave way cannot be read")
	}
	return commit, code
}

// held returns the commit of the newest program of main that held and for whose code is returns true; "" if
// there is none.
func (w *watcher) held(ctx context.Context, is func(code string) bool) string {
	list, err := w.remote.Good(ctx)
	if err != nil {
		w.log.Error().Err(err).Msg("what held cannot be read")
	}
	for _, commit := range list {
		if code, err := w.remote.Code(ctx, commit); err == nil && is(code) {
			return commit
		}
	}
	return ""
}

// remember appends a program to a list and drops the oldest.
func remember(list []string, code string, most int) []string {
	list = append(list, code)
	return list[max(0, len(list)-most):]
}
