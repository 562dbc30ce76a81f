package git

import (
	"context"
	"slices"
	"time"
)

// Watch waits for refs that move. A ref tells nobody, so some files are looked at: that costs
// a few calls of stat and no child, and works through a read-only mount, where notifications
// do not come (AGT-6).
type Watch struct {
	repo *Repo
	refs []string
	seen []Mark
}

// Watch watches refs, each a full name or a directory of refs, from now on. Begin before they
// are read: what is pushed in between is then seen.
func (r *Repo) Watch(refs ...string) *Watch {
	w := &Watch{repo: r}
	w.Add(refs...)
	return w
}

// Add watches more refs from now on.
func (w *Watch) Add(refs ...string) {
	for _, ref := range refs {
		w.refs, w.seen = append(w.refs, ref), append(w.seen, w.repo.Mark(ref))
	}
}

func (w *Watch) marks() (list []Mark) {
	for _, ref := range w.refs {
		list = append(list, w.repo.Mark(ref))
	}
	return list
}

// Moved reports whether one may have moved since the beginning, or since it was last said.
func (w *Watch) Moved() bool {
	now := w.marks()
	moved := !slices.Equal(now, w.seen)
	w.seen = now
	return moved
}

// Wait is the one way to wait for a ref that moves (ONE-4): it looks every so often, and
// returns when Moved does, when other says so, or when the time until has come. A zero time
// never comes, and other may be nil. The error is ctx's cause.
func (w *Watch) Wait(ctx context.Context, every time.Duration, until time.Time, other func() bool) (moved bool, err error) {
	for {
		switch {
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case w.Moved():
			return true, nil
		case other != nil && other(), !until.IsZero() && !time.Now().Before(until):
			return false, nil
		}
		pause := every
		if !until.IsZero() {
			pause = min(every, time.Until(until))
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}
