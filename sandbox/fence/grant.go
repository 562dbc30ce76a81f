package fence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"git-ward/internal/git"
	"git-ward/protocols/lease"
	"git-ward/sandbox/gateway"
)

// stops are the directives that somebody has stopped: nobody of this launch works on them
// until the PM's branch or the lease moves, or the next launch.
type stops struct {
	mu   sync.Mutex
	seen map[string]stop
}

// stop is what the refs were when the worker had ended; not yet where it has not.
type stop struct {
	control, lease git.Mark
	over           bool
}

func (l *launch) stopMarks(directive string) stop {
	repo := git.Open(l.spec.Bare)
	return stop{repo.Mark(l.spec.Settings.Control.Ref()), repo.Mark(lease.Ref(directive)), true}
}

// stopped reports whether a directive is.
func (l *launch) stopped(directive string) bool {
	l.stops.mu.Lock()
	defer l.stops.mu.Unlock()
	seen, ok := l.stops.seen[directive]
	if ok && seen.over && seen != l.stopMarks(directive) {
		delete(l.stops.seen, directive)
		ok = false
	}
	return ok
}

// setStopped begins a stop, or ends its beginning.
func (l *launch) setStopped(directive string, s stop) {
	l.stops.mu.Lock()
	defer l.stops.mu.Unlock()
	if l.stops.seen == nil {
		l.stops.seen = map[string]stop{}
	}
	l.stops.seen[directive] = s
}

// grants is what a worker's gateway asks: the book, but for what is stopped. Nil with a
// command, of which nobody has to ask.
func (w *worker) grants() gateway.Lease {
	if w.lease == nil {
		return nil
	}
	return granting{w}
}

type granting struct{ w *worker }

func (g granting) Current(ctx context.Context) (lease.Lease, bool) { return g.w.lease.Current(ctx) }

func (g granting) Take(ctx context.Context, directives []string) (lease.Lease, error) {
	open := slices.DeleteFunc(slices.Clone(directives), g.w.stopped)
	if len(open) == 0 {
		return lease.Lease{}, &lease.Refused{Why: lease.Paused, Text: fmt.Sprintf("somebody stopped the work on %s: it goes on when the PM's branch moves, or with the next launch", directives[0])}
	}
	l, err := g.w.lease.Take(ctx, open)
	if err == nil || refused(err) {
		g.w.tellLease(l)
	}
	return l, err
}

// refused reports whether a lease is not granted, as against trouble.
func refused(err error) bool {
	_, ok := errors.AsType[*lease.Refused](err)
	return ok
}

// Release gives a directive back. Elsewhere the worker is there for one directive and ends
// with it: its way here goes by the lease, which is given back when it has ended (MANY-3).
func (g granting) Release(ctx context.Context, directive string) error {
	if g.w.spec.Engine != nil {
		return nil
	}
	err := g.w.lease.Release(ctx, directive)
	if now, ok := g.w.lease.Current(ctx); err == nil && !ok {
		g.w.tellLease(now)
	}
	return err
}
