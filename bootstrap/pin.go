package bootstrap

import (
	"context"
	"fmt"

	"git-ward/protocols/boot"
)

// pinTo holds main's tree where a rollback took it, unless main moved since it was asked
// for, and tells the host: the next container knows by that alone. Its caller saves it.
func (w *watcher) pinTo(h *hop) {
	w.state.Pin, w.state.Left = &pin{Ref: h.Name, Commit: h.Commit, Main: h.Main}, ""
	fmt.Fprintln(w.opts.Stdout, boot.RolledBack+h.From+" "+h.Commit)
}

// unpin goes back to main. Where a rollback had taken it, that is left, which the host is told; until
// it knows, its pin is none. Its caller saves it.
func (w *watcher) unpin() {
	if p := w.state.Pin; p != nil && !p.Fallback {
		w.state.Left = p.Commit
		fmt.Fprintln(w.opts.Stdout, boot.Unpinned+p.Commit)
	}
	w.state.Pin = nil
}

// takePin takes over where a rollback in another container went, as the host has it, while what of
// main can run is what it was then; and lets go of it when the host does.
func (w *watcher) takePin(ctx context.Context, main string) {
	if p := w.state.Pin; p != nil && p.Ref != boot.PinTo {
		return
	}
	to, err := w.hostPin(ctx, main)
	switch {
	case err != nil:
		w.log.Error().Err(err).Msg("where a rollback went cannot be read")
	case to == "": // the host knows by now what was left
		w.state.Pin, w.state.Left = nil, ""
	case to == w.state.Left:
		w.state.Pin = nil
	default:
		w.state.Pin = &pin{Ref: boot.PinTo, Commit: to, Main: main}
	}
}

// hostPin is where the host says that a rollback from main's code went, "" for nowhere.
func (w *watcher) hostPin(ctx context.Context, main string) (to string, err error) {
	from, err := w.remote.Commit(ctx, boot.PinFrom)
	if err != nil || from == "" {
		return "", err
	}
	if code, err := w.remote.Code(ctx, from); err != nil || code != main {
		return "", err
	}
	return w.remote.Commit(ctx, boot.PinTo)
}
