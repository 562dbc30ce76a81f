package bootstrap

import (
	"context"
	"fmt"

	"git-ward/protocols/boot"
)

// deaths counts unexpected ends of one program.
type deaths struct {
	Code   string `json:"code"`            // the program's code
	Commit string `json:"commit,omitzero"` // the last commit with this code
	Count  int    `json:"count"`
}

// takeCount starts a count for another program. It begins with the host's number from earlier containers, or
// with 0.
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

// count changes the count and tells the host, which passes it to the next container. The
// caller saves the state.
func (w *watcher) count(d *deaths, of string, by int) {
	if by = max(by, -d.Count); by == 0 {
		return
	}
	d.Count += by
	fmt.Fprintf(w.opts.Stdout, "%s%s\n", boot.Counts, boot.Count{Of: of, By: max(by, -boot.MaxCount), Commit: d.Commit})
}
