package lease

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/failpoint"
	"git-ward/internal/git"
	"git-ward/protocols/lease"
)

// Take writes the lease of a directive for a holder, which is its assignment: the holder's
// name is the launcher's, a dot, a number; where it works is for people: "podman", "process",
// "kube NAMESPACE/JOB". The error is *Taken where another has it, or nobody may.
func (b *Book) Take(ctx context.Context, holder, where, directive string) (*Hold, error) {
	var next lease.Lease
	err := b.move(ctx, directive, func(e entry) (*lease.Lease, error) {
		if err := b.free(e, directive); err != nil {
			return nil, err
		}
		next = b.granted(holder, where, directive)
		failpoint.Reach("lease/free")
		return &next, nil
	})
	if err != nil {
		return nil, err
	}
	b.keep(next)
	failpoint.Reach("lease/taken")
	return b.hold(next), nil
}

// granted is a new lease.
func (b *Book) granted(holder, where, directive string) lease.Lease {
	var id [lease.IDBytes]byte
	rand.Read(id[:])
	return lease.New(directive, id, holder, where, b.now(), b.term())
}

// Taken means that another has the directive, or that nobody may take it until a person has
// looked at it.
type Taken struct {
	Text  string
	Until time.Time // when it becomes free unless renewed; zero if unknown
}

func (t *Taken) Error() string { return t.Text }

// free says who keeps a directive from another holder; nil if nobody does.
func (b *Book) free(e entry, directive string) error {
	if e.blob == git.Zero {
		return nil
	}
	now := b.now()
	t := &Taken{}
	switch doubt := e.lease.Doubt(now); {
	case e.err != nil:
		t.Text = e.err.Error()
	case b.keeps(e.lease):
		t.Text = fmt.Sprintf("%s works on %s", e.lease.Holder, directive)
	case b.left(e.lease):
		return nil
	case doubt != nil:
		t.Text = doubt.Error()
	case !e.lease.Free(now):
		t.Text = fmt.Sprintf("%s works on %s, until %s unless it goes on", e.lease.Holder, directive, e.lease.Until.Format(time.RFC3339))
		t.Until = e.lease.Until.Add(lease.Grace)
	default:
		return nil
	}
	t.Text = diag.Clean(t.Text)
	return t
}

// Others are the directives that this process may not take now, with the time when that ends
// by itself; the zero time is never. Refs are read where one of them has moved since.
func (b *Book) Others(ctx context.Context) (map[string]time.Time, error) {
	if mark := b.Repo.Mark(lease.Prefix); mark != b.seen || b.entries == nil {
		entries, err := b.all(ctx)
		if err != nil {
			return nil, err
		}
		if entries == nil {
			entries = map[string]entry{}
		}
		b.entries, b.seen = entries, mark
	}
	held := map[string]time.Time{}
	for directive, e := range b.entries {
		if taken, ok := b.free(e, directive).(*Taken); ok {
			held[directive] = taken.Until
		}
	}
	return held, nil
}
