package fence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"git-ward/internal/git"
	"git-ward/protocols/lease"
	"git-ward/protocols/state"
	"git-ward/sandbox/gateway"
)

// stops are the directives that somebody has stopped: nobody of this launch works on them
// until the PM changes their text. Reports move the PM's branch, too, and
// begin nothing again.
type stops struct {
	mu   sync.Mutex
	seen map[string]stop
}

// stop is what the PM's branch was when the worker had ended; not yet where it has not.
type stop struct {
	control git.Mark
	text    string // the directive's hash, "" where it cannot be read
	over    bool
}

// stopNow is a stop as of now.
func (l *launch) stopNow(directive string) stop {
	control := l.spec.Settings.Control.Ref()
	repo := git.Open(l.spec.Bare)
	s := stop{control: repo.Mark(control), over: true}
	reader := repo.Reader(context.Background())
	defer reader.Close()
	if doc, err := state.ReadComms(reader, control); err == nil {
		if d := doc.Directive(directive); d != nil {
			s.text = d.Hash()
		}
	}
	return s
}

// moved reports whether a stop is over, and takes down what else has moved.
func (l *launch) moved(directive string, s *stop) bool {
	if !s.over || git.Open(l.spec.Bare).Mark(l.spec.Settings.Control.Ref()) == s.control {
		return false
	}
	now := l.stopNow(directive)
	s.control = now.control
	return now.text != "" && now.text != s.text
}

// stopped reports whether a directive is.
func (l *launch) stopped(directive string) bool {
	l.stops.mu.Lock()
	defer l.stops.mu.Unlock()
	seen, ok := l.stops.seen[directive]
	switch {
	case ok && l.moved(directive, &seen):
		delete(l.stops.seen, directive)
		return false
	case ok:
		l.stops.seen[directive] = seen
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
		return lease.Lease{}, &lease.Refused{Why: lease.Paused, Text: fmt.Sprintf("somebody stopped the work on %s: it goes on when the PM changes its text, or with the next launch", directives[0])}
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
	if g.w.engine != nil {
		return nil
	}
	err := g.w.lease.Release(ctx, directive)
	if now, ok := g.w.lease.Current(ctx); err == nil && !ok {
		g.w.tellLease(now)
	}
	return err
}
