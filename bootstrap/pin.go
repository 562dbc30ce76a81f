package bootstrap

import (
	"context"
	"fmt"

	"git-ward/protocols/boot"
)

// pinTo keeps main's tree at the target of a rollback, unless main moved since the request,
// and tells the host, which passes it to the next container. The caller saves the state.
func (w *watcher) pinTo(h *hop) {
	w.state.Pin, w.state.Left = &pin{Ref: h.Name, Commit: h.Commit, Main: h.Main}, ""
	fmt.Fprintln(w.opts.Stdout, boot.RolledBack+h.From+" "+h.Commit)
}

// unpin returns to main. After a rollback it tells the host so; until the host knows, the pin
// of the host is ignored. The caller saves the state.
func (w *watcher) unpin() {
	if p := w.state.Pin; p != nil && !p.Fallback {
		w.state.Left = p.Commit
		fmt.Fprintln(w.opts.Stdout, boot.Unpinned+p.Commit)
	}
	w.state.Pin = nil
}

// takePin adopts the rollback of another container from the host, as long as main's code is still the same,
// and drops it when the host does.
func (w *watcher) takePin(ctx context.Context, main string) {
	if p := w.state.Pin; p != nil && p.Ref != boot.PinTo {
		return
	}
	to, err := w.hostPin(ctx, main)
	switch {
	case err != nil:
		w.log.Error().Err(err).Msg("where a rollback went cannot be read")
	case to == "": // the host knows of the return to main
		w.state.Pin, w.state.Left = nil, ""
	case to == w.state.Left:
		w.state.Pin = nil
	default:
		w.state.Pin = &pin{Ref: boot.PinTo, Commit: to, Main: main}
	}
}

// hostPin returns the target of a rollback from main's code according to the host; "" if there is none.
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
