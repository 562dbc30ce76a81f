package bootstrap

import (
	"context"
	"fmt"
	"slices"

	"git-ward/bootstrap/signals"
	"git-ward/internal/diag"
	"git-ward/protocols/boot"
)

// deaths are ends in a row of one program that nobody asked for.
type deaths struct {
	Code  string `json:"code"` // of the program
	Count int    `json:"count"`
}

const (
	// maxDeaths is how often in a row main's program may end by itself, up and not for
	// [bootstrap] check yet, before an earlier one takes its place.
	maxDeaths = 3
	// maxBad bounds what is remembered of programs that gave way.
	maxBad = 20
)

// givesWay counts how a run of main's own program ended, and reports whether it ended too
// often: that it answers that it is up says only that it started.
func (w *watcher) givesWay(t *target, r run) bool {
	if !t.own || t.branch != boot.Main || !r.Booted || r.Signaled || r.Stale {
		return false
	}
	d := &w.state.Deaths
	defer w.state.save()
	if r.Time >= w.opts.Settings.Bootstrap.Check.Duration || w.opts.ends() && r.Status.OK() && r.Excess == nil {
		*d = deaths{}
		return false
	}
	if d.Code != t.code {
		*d = deaths{Code: t.code}
	}
	d.Count++
	return d.Count >= maxDeaths
}

// fallBack pins the newest program of main that held and did not give way since, in place
// of one that does not hold. Where there is none left, main is tried again: what keeps all
// of them from working may be gone. So it is after a rollback.
func (w *watcher) fallBack(ctx context.Context, t *target, what, why string) {
	defer w.state.save()
	w.state.Deaths = deaths{}
	p, main := w.state.Pin, t.code
	pinned := t.pinned || t.hop != nil && t.hop.Kind == signals.Rollback
	if pinned {
		w.state.Pin, main = nil, p.Main
		if pinned = t.code != main; pinned && !p.Fallback { // else it went back to main's own
			return
		}
	}
	w.state.Bad = remember(w.state.Bad, t.code, maxBad)
	good := w.earlier(ctx)
	if good == "" {
		w.state.Bad = nil
		return
	}
	if h := w.state.Hop; h != nil { // asked for by what gave way, and it leads back there or nowhere
		w.state.Hop = nil
		w.reportFailure(h.branch(), boot.Unknown, fmt.Sprintf("%s: what asked for it %s", h.Signal, what))
	}
	w.state.Pin = &pin{Ref: "last-good", Commit: good, Main: main, Fallback: true}
	if !pinned {
		fmt.Fprintln(w.opts.Stdout, boot.FellBack+t.commit)
	}
	n := fallbackNotice("main", *t, fmt.Sprintf(
		"The agent %s from %s, commit %s: %s. It runs from the last commit that held, %s, until the code of %[2]s moves; logs/errors.log says more.",
		what, w.called(boot.Main), diag.Short(t.commit), diag.Clean(why), diag.Short(good)))
	n.Branch = "" // it is no directive's
	w.notices.Tell(n)
}

// earlier is the commit of the newest program of main that held and is none of those that
// gave way since, "" for none.
func (w *watcher) earlier(ctx context.Context) string {
	return w.held(ctx, func(code string) bool { return !slices.Contains(w.state.Bad, code) })
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
