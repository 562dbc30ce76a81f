package bootstrap

import (
	"context"
	"fmt"

	"git-ward/protocols/boot"
)

// deaths are ends of one program that nobody asked for, or that it brought about itself.
type deaths struct {
	Code   string `json:"code"`            // of the program
	Commit string `json:"commit,omitzero"` // that had it last
	Count  int    `json:"count"`
}

// takeCount has a count begin anew for another program than before: where another container has left
// it, as the host has that, else at nothing.
func (w *watcher) takeCount(ctx context.Context, d *deaths, of string, t *target) {
	if d.Commit = t.commit; d.Code == t.code {
		return
	}
	*d = deaths{Code: t.code, Commit: t.commit}
	list, err := w.remote.Counted(ctx, boot.CountPrefix(of, w.opts.Directive))
	if err == nil && len(list) > 0 {
		var counted string
		if counted, err = w.remote.Code(ctx, list[0]); counted == t.code {
			d.Count = len(list)
		}
	}
	if err != nil {
		w.log.Error().Err(err).Msg("what the host has counted cannot be read")
	}
}

// count counts more or less, and tells the host: the next container knows by that alone. Its caller
// saves it.
func (w *watcher) count(d *deaths, of string, by int) {
	if by = max(by, -d.Count); by == 0 {
		return
	}
	d.Count += by
	fmt.Fprintf(w.opts.Stdout, "%s%s\n", boot.Counts, boot.Count{Of: of, By: max(by, -boot.MaxCount), Commit: d.Commit})
}
