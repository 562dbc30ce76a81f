package git

import (
	"context"
	"slices"
	"time"
)

// Watch waits for refs to move. It polls the metadata of a few files, which costs some stat
// calls and no child, and works through a read-only mount, where inotify does not (AGT-6).
type Watch struct {
	repo *Repo
	refs []string
	seen []Mark
}

// Watch watches refs, each a full name or a directory of refs, from now on. Start it before
// reading the refs, so that a push in between is seen.
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

// Moved reports whether a ref may have moved since the start, or since Moved last said so.
func (w *Watch) Moved() bool {
	now := w.marks()
	moved := !slices.Equal(now, w.seen)
	w.seen = now
	return moved
}

// Wait is the one way to wait for a ref to move (ONE-4). It polls, and returns when Moved is
// true, when other returns true, or at the time until. A zero time means no deadline, and
// other may be nil. The error is ctx's cause.
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
