package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/lease"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// Take grants a holder the first of some directives that it may have. The error is
// *lease.Refused, of the first of them, where it may have none. One that it holds is renewed,
// under the same id. What else it holds is the caller's to release (Worker does).
func (b *Book) Take(ctx context.Context, holder, where string, directives ...string) (lease.Lease, error) {
	b.taking.Lock() // many who ask at once are answered one after the other, each by what the one before it has left
	defer b.taking.Unlock()
	v, err := b.view(ctx)
	if err != nil {
		return lease.Lease{}, err
	}
	defer v.Close()
	var first error
	for _, directive := range directives {
		l, err := v.take(ctx, holder, where, directive)
		var refused *lease.Refused
		switch {
		case err == nil:
			b.keep(l)
			return l, nil
		case !errors.As(err, &refused):
			return l, err
		case first == nil:
			first = err
		}
	}
	return lease.Lease{}, first
}

// view is the repository as one taking sees it.
type view struct {
	*Book
	reader *git.Reader
	leases map[string]entry
	doc    state.Comms
	waits  func(comms.Directive) []string
	state  func(comms.Directive) comms.State
	listed map[string]comms.Directive
	units  map[string]state.Unit // the newest of each directive
}

// view reads what every taking needs. Control is read anew only when it has moved.
func (b *Book) view(ctx context.Context) (*view, error) {
	v := &view{Book: b, reader: b.Repo.Reader(ctx), listed: map[string]comms.Directive{}, units: map[string]state.Unit{}}
	err := v.read(ctx)
	if err != nil {
		v.Close()
	}
	return v, err
}

// Close ends the reading.
func (v *view) Close() { v.reader.Close() }

func (v *view) read(ctx context.Context) (err error) {
	if v.leases, err = v.all(ctx); err != nil {
		return err
	}
	units, _, err := state.Units(v.reader)
	if err != nil {
		return err
	}
	for _, u := range units { // in the order of their numbers
		v.units[u.ID.Directive] = u
	}
	if v.doc, err = v.comms(v.reader); err != nil {
		return err
	}
	v.waits, v.state = v.doc.Waiting(), v.doc.States()
	for _, d := range v.doc.Directives {
		v.listed[d.Name()] = d
	}
	return nil
}

// comms is control's COMMS.md.
func (b *Book) comms(r *git.Reader) (state.Comms, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	control := b.Settings.Control.Ref()
	mark := b.Repo.Mark(control)
	if mark == b.mark && b.doc.Document != nil {
		return b.doc, nil
	}
	doc, err := state.ReadComms(r, control)
	if err == nil {
		b.doc, b.mark = doc, mark
	}
	return doc, err
}

// take grants one directive.
func (v *view) take(ctx context.Context, holder, where, directive string) (lease.Lease, error) {
	was, ok := v.leases[directive]
	if !ok {
		was.blob = git.Zero
	}
	for try := 0; ; try++ {
		mine := was.blob != git.Zero && was.err == nil && was.lease.Holder == holder
		if err := v.free(was, directive); err != nil && !mine {
			return lease.Lease{}, err
		}
		if err := v.may(directive); err != nil {
			return lease.Lease{}, err
		}
		next := v.granted(holder, where, directive)
		if mine {
			next.ID, next.Since = was.lease.ID, earlier(was.lease.Since, next.Since)
		}
		_, err := v.swap(ctx, directive, was, &next)
		if err == nil || try == tries {
			return next, err
		}
		if err := git.Backoff(ctx, try); err != nil {
			return next, err
		}
		if was, err = v.Book.read(ctx, directive); err != nil {
			return next, err
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// granted is a new lease.
func (b *Book) granted(holder, where, directive string) lease.Lease {
	var id [lease.IDBytes]byte
	rand.Read(id[:])
	return lease.New(directive, id, holder, where, b.now(), b.term())
}

// free says who keeps a directive from another holder, nil for nobody.
func (b *Book) free(e entry, directive string) error {
	if e.blob == git.Zero {
		return nil
	}
	refused := &lease.Refused{Why: lease.Held, Holder: e.lease.Holder, Until: e.lease.Until}
	now := b.now()
	switch doubt := e.lease.Doubt(now); {
	case e.err != nil:
		refused.Text = e.err.Error()
	case b.keeps(e.lease):
		refused.Text = fmt.Sprintf("%s works on %s", e.lease.Holder, directive)
	case b.left(e.lease):
		return nil
	case doubt != nil:
		refused.Text = doubt.Error()
	case !e.lease.Free(now):
		refused.Text = fmt.Sprintf("%s works on %s, until %s unless it goes on", e.lease.Holder, directive, e.lease.Until.Format(time.RFC3339))
	default:
		return nil
	}
	refused.Text = diag.Clean(refused.Text)
	return refused
}

// may says what else keeps everybody from a directive, nil for nothing. Whether there is
// anything to do on it is the worker's to know; here it is what nobody is to work on.
func (v *view) may(directive string) error {
	last, err := v.last(directive)
	if err != nil {
		return nil // a journal that does not hold: the worker says so, and ends it
	}
	over := last == nil || last.State == uow.Archived
	d, listed := v.listed[directive]
	switch {
	case !listed && over:
		return &lease.Refused{Why: lease.Closed, Text: directive + " is not among the directives"}
	case !listed: // the worker puts its unit away
		return nil
	case v.state(d) == comms.Closed && over:
		return &lease.Refused{Why: lease.Closed, Text: directive + " is closed"}
	case last != nil && last.State == uow.Paused && last.DirectiveHash == d.Hash():
		return &lease.Refused{Why: lease.Paused, Text: fmt.Sprintf("%s is paused: git ward uow resume %s", directive, last.ID)}
	}
	if waits := v.waits(d); len(waits) > 0 {
		return &lease.Refused{Why: lease.After, Text: fmt.Sprintf("%s comes after %s", directive, strings.Join(waits, ", "))}
	}
	return nil
}

// last is the newest record of a directive's newest unit, nil for no unit.
func (v *view) last(directive string) (*uow.Record, error) {
	u, ok := v.units[directive]
	if !ok {
		return nil, nil
	}
	return state.Record(v.reader, u.Tip)
}
