package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"git-ward/internal/git"
	"git-ward/protocols/lease"
)

// Worker is one holder of leases, of one directive at a time. It is safe for concurrent use.
type Worker struct {
	book          *Book
	holder, where string
	changed       chan struct{} // something was taken: Keep begins to count anew

	mu    sync.Mutex
	holds *lease.Lease
	mark  git.Mark // of its ref, when it was seen to be this one's
	taken time.Time

	renewed, wall time.Time // when it was granted or renewed, by both clocks
}

// Worker is a holder by its name: the launcher's, a dot, a number; where it works is for
// people: "podman", "process", "kube NAMESPACE/JOB".
func (b *Book) Worker(holder, where string) *Worker {
	return &Worker{book: b, holder: holder, where: where, changed: make(chan struct{}, 1)}
}

// Adopt makes a lease this worker's that is its holder's already: of a worker that outlived
// its launcher. The error is ErrLost where it is gone.
func (w *Worker) Adopt(ctx context.Context, l lease.Lease) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	l, err := w.book.Renew(ctx, l)
	if err == nil {
		w.has(&l)
	}
	return err
}

// Holder is the worker's name.
func (w *Worker) Holder() string { return w.holder }

// takeEvery is the least time between two takings of one worker's: it chooses, and chooses
// again, and may not keep the host busy with that.
const takeEvery = 200 * time.Millisecond

// Take gets the first of some directives that the worker may have. What it held before is
// released first; where it gets none it holds none. The error is *lease.Refused then.
func (w *Worker) Take(ctx context.Context, directives []string) (lease.Lease, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := pause(ctx, takeEvery-time.Since(w.taken)); err != nil {
		return lease.Lease{}, err
	}
	if w.holds != nil && w.holds.Directive != directives[0] {
		if err := w.release(ctx); err != nil {
			return lease.Lease{}, err
		}
	}
	l, err := w.book.Take(ctx, w.holder, w.where, directives...)
	w.taken = time.Now()
	if err != nil {
		return l, errors.Join(err, w.release(ctx))
	}
	if w.holds != nil && w.holds.Directive != l.Directive {
		err = w.release(ctx)
	}
	w.has(&l)
	return l, err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// has notes what the worker holds, nil for nothing.
func (w *Worker) has(l *lease.Lease) {
	w.noted(l)
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// noted notes what was granted or renewed just now, nil for nothing.
func (w *Worker) noted(l *lease.Lease) {
	w.holds, w.mark = l, git.Mark{}
	w.renewed, w.wall = time.Now(), w.book.now()
}

// Release gives a directive back. One that the worker does not hold is no error.
func (w *Worker) Release(ctx context.Context, directive string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.holds == nil || w.holds.Directive != directive {
		return nil
	}
	return w.release(ctx)
}

// Close gives back whatever the worker holds: it has ended.
func (w *Worker) Close(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.release(ctx)
}

func (w *Worker) release(ctx context.Context) error {
	if w.holds == nil {
		return nil
	}
	err := w.book.Release(ctx, *w.holds)
	if err == nil {
		w.has(nil)
	}
	return err
}

// Current is what the worker holds now, by its ref; false for nothing.
func (w *Worker) Current(ctx context.Context) (lease.Lease, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.holds == nil || !w.book.keeps(*w.holds) {
		return lease.Lease{}, false
	}
	if !w.stands(ctx) {
		return lease.Lease{}, false
	}
	return *w.holds, true
}

// stands reports whether the ref of what the worker holds is its own still.
func (w *Worker) stands(ctx context.Context) bool {
	mark := w.book.Repo.Mark(lease.Ref(w.holds.Directive))
	if mark == w.mark && mark != (git.Mark{}) { // which is the mark of no ref, too
		return true
	}
	e, err := w.book.read(ctx, w.holds.Directive)
	if err != nil || e.err != nil || e.blob == git.Zero || e.lease.ID != w.holds.ID {
		return false
	}
	w.mark = mark
	return true
}

// Token is the name that the worker pushes under now, "" for none.
func (w *Worker) Token(ctx context.Context) string {
	l, ok := w.Current(ctx)
	if !ok {
		return ""
	}
	return l.Name()
}

const (
	// lookEvery is how often Keep looks whether the lease is still there, which costs a stat.
	lookEvery = time.Second
	// maxDrift is by how much the wall clock may be moved until the lease is written anew by it.
	maxDrift = 20 * time.Second
)

// Keep renews what the worker holds, each third of its term, until ctx ends. Where that is
// gone the worker holds nothing more, and lost is called with why: its work is to end.
func (w *Worker) Keep(ctx context.Context, lost func(l lease.Lease, why error)) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.changed:
		case <-look.C:
		}
		if l, why := w.keep(ctx); errors.Is(why, ErrLost) && ctx.Err() == nil {
			lost(l, why)
		}
	}
}

// due reports whether what the worker holds is to be renewed: a third of its term is over,
// or the wall clock was set.
func (w *Worker) due() bool {
	since := time.Since(w.renewed)
	drift := (w.book.now().Round(0).Sub(w.wall.Round(0)) - since).Abs()
	return since >= w.book.term()/3 || drift > maxDrift
}

// keep looks after the lease once.
func (w *Worker) keep(ctx context.Context) (lease.Lease, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.holds == nil {
		return lease.Lease{}, nil
	}
	old := *w.holds
	if !w.due() && w.book.keeps(old) && w.stands(ctx) {
		return old, nil
	}
	renewed, err := w.book.Renew(ctx, old)
	switch {
	case err == nil:
		w.noted(&renewed)
		return renewed, nil
	case errors.Is(err, ErrLost), !w.book.keeps(old) && ctx.Err() == nil:
		w.book.forget(old)
		w.has(nil)
		if !errors.Is(err, ErrLost) {
			err = fmt.Errorf("%w: it could not be renewed: %w", ErrLost, err)
		}
		return old, err
	}
	return old, err
}
