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

// Hold is a lease held by a worker of this process. It is safe for concurrent use.
type Hold struct {
	book *Book

	mu    sync.Mutex
	lease lease.Lease
	gone  bool     // released or lost
	mark  git.Mark // the ref's mark when it was last seen to be this lease's

	renewed, wall time.Time // when it was granted or renewed, by both clocks
}

// hold is a lease that was just granted.
func (b *Book) hold(l lease.Lease) *Hold {
	h := &Hold{book: b}
	h.noted(l)
	return h
}

// noted records a grant or renewal.
func (h *Hold) noted(l lease.Lease) {
	h.lease, h.mark = l, git.Mark{}
	h.renewed, h.wall = time.Now(), h.book.now()
}

// Lease returns the lease with its present end.
func (h *Hold) Lease() lease.Lease {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lease
}

// Release gives the directive back. A lease that is gone is no error.
func (h *Hold) Release(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gone {
		return nil
	}
	h.gone = true
	return h.book.Release(ctx, h.lease)
}

// Current returns the lease if, by its ref, the worker still has it; ok is false otherwise.
func (h *Hold) Current(ctx context.Context) (lease.Lease, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gone || !h.book.keeps(h.lease) || !h.stands(ctx) {
		return lease.Lease{}, false
	}
	return h.lease, true
}

// stands reports whether the ref still has the lease.
func (h *Hold) stands(ctx context.Context) bool {
	mark := h.book.Repo.Mark(lease.Ref(h.lease.Directive))
	if mark == h.mark && mark != (git.Mark{}) { // also the mark of a missing ref
		return true
	}
	e, err := h.book.read(ctx, h.lease.Directive)
	if err != nil || e.err != nil || e.blob == git.Zero || e.lease.ID != h.lease.ID {
		return false
	}
	h.mark = mark
	return true
}

// Token is the name that the worker pushes under now, "" for none.
func (h *Hold) Token(ctx context.Context) string {
	l, ok := h.Current(ctx)
	if !ok {
		return ""
	}
	return l.Name()
}

const (
	// lookEvery is how often Keep checks that the lease is still there, which costs a stat.
	lookEvery = time.Second
	// maxDrift is how far the wall clock may be moved before the lease is rewritten with new
	// times.
	maxDrift = 20 * time.Second
)

// Keep renews the lease at each third of its term until ctx ends. If the lease is lost, it
// calls lost with the reason and returns; the worker must then end.
func (h *Hold) Keep(ctx context.Context, lost func(why error)) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		if why := h.keep(ctx); errors.Is(why, ErrLost) && ctx.Err() == nil {
			lost(why)
			return
		}
	}
}

// due reports whether to renew: a third of the term is over, or the wall clock was set.
func (h *Hold) due() bool {
	since := time.Since(h.renewed)
	drift := (h.book.now().Round(0).Sub(h.wall.Round(0)) - since).Abs()
	return since >= h.book.term()/3 || drift > maxDrift
}

// keep checks and renews the lease once.
func (h *Hold) keep(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gone || !h.due() && h.book.keeps(h.lease) && h.stands(ctx) {
		return nil
	}
	renewed, err := h.book.Renew(ctx, h.lease)
	switch {
	case err == nil:
		h.noted(renewed)
		return nil
	case errors.Is(err, ErrLost), !h.book.keeps(h.lease) && ctx.Err() == nil:
		h.book.forget(h.lease)
		h.gone = true
		if !errors.Is(err, ErrLost) {
			err = fmt.Errorf("%w: it could not be renewed: %w", ErrLost, err)
		}
	}
	return err
}
