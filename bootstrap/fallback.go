package bootstrap

import (
	"context"
	"fmt"
	"slices"

	"git-ward/bootstrap/signals"
	"git-ward/internal/diag"
	"git-ward/protocols/boot"
)

// maxBad bounds what is remembered of programs that gave way.
const maxBad = 20

// counts notes how a run of main's own program ended, and reports whether that was a death. A death
// is one that ended by itself, up and not for [bootstrap] check yet, or that a guard ended for what
// it took itself, however late: what leaks takes its time. A good end takes off half of one: a program
// that dies each second time gives way at boot.MaxDeaths, too, and one that does so rarely never. That
// it answers that it is up says only that it started. One that hands over counts where it had to
// be ended or ended badly, until what it asked for has started. One that a guard ended for what
// it ran, such as a directive's build, has neither died nor held: another program's would do so, too.
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

// inVain reports whether a hop asks once more for what has failed to start as often as an agent
// that reads bootstrap.log asks for any branch.
func (w *watcher) inVain(h *hop) bool {
	return h != nil && w.journal.Failures(h.branch(), h.Commit) >= boot.MaxFailures
}

// fallBack pins the newest program of main that held and did not give way since, in place
// of one that does not hold. Where there is none left, main is tried again: what keeps all
// of them from working may be gone. So it is after a rollback.
func (w *watcher) fallBack(ctx context.Context, t *target, what, why string) {
	defer w.state.save()
	p, main := w.state.Pin, t.code
	died := w.state.Deaths
	if w.state.Deaths = (deaths{}); !t.pinned || p != nil && !p.Fallback {
		w.count(&died, boot.Deaths, -died.Count)
	} // else the next container, which does not know that it gave way in its turn, goes on from there
	pinned := t.pinned || t.hop != nil && t.hop.Kind == signals.Rollback
	if pinned {
		w.unpin()
		main = t.main
		if pinned = t.code != main; pinned && p != nil && !p.Fallback { // else it went back to main's own
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
	if h := w.state.Hop; h != nil { // asked for by what gave way, and it leads back there or nowhere
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

// mainKind is the incident of a program of main that gave way.
const mainKind = "main"

// tellFallBack tells the PM that a commit's program gave way to that of another commit: once for
// all watchers that take the other one for it.
func (w *watcher) tellFallBack(t *target, what, fallen, good string) {
	n := fallbackNotice(mainKind, *t, fmt.Sprintf("The agent %s. It runs from the last commit that held, %s, until the code of %s moves; logs/errors.log says more.",
		what, diag.Short(good), w.called(boot.Main)))
	n.Branch, n.ID = "", "gave way: "+diag.Short(fallen) // it is no directive's
	w.notices.Tell(n)
}

// earlier is the commit of the newest program of main that held, is another than main's, and is
// none of those that gave way since, "" for none.
func (w *watcher) earlier(ctx context.Context, main string) string {
	return w.held(ctx, func(code string) bool { return code != main && !slices.Contains(w.state.Bad, code) })
}

// gaveWay is the commit of main whose program gave way, as the host knows it from any watcher of
// any launch, and names that program; "" for none.
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

// held is the commit of the newest program of main that held and whose code is so, "" for
// none.
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

// remember adds a program to a list that keeps the newest.
func remember(list []string, code string, most int) []string {
	list = append(list, code)
	return list[max(0, len(list)-most):]
}
