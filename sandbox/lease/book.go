// Package lease writes who works on which directive of a repository (MANY-1, MANY-2): one
// worker at a time, whatever number of launchers, workers and hosts there are, because each
// assignment is one compare-and-swap of a ref. protocols/lease defines leases, and
// protocols/schedule decides who gets one.
package lease

import (
	"context"
	"errors"
	"sync"
	"time"

	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/protocols/lease"
)

// Book is one process's view of a repository's leases, on the gate's host. It is safe for
// concurrent use.
type Book struct {
	Repo     *git.Repo
	Settings *config.Config
	Now      func() time.Time // the wall clock; nil: this host's
	// Launcher is this process's launcher name, if it holds the launch lock: a lease under
	// that name that this process did not grant is a killed launcher's, and is free. "" for
	// other processes.
	Launcher string
	Former   string // LauncherName's

	mu   sync.Mutex
	kept map[string]kept // by directive: granted or renewed by this process

	seen    git.Mark         // read when the leases' refs had this mark
	entries map[string]entry // for Others, which one goroutine calls
}

// kept is a lease of this process's worker. Its end is measured by the monotonic clock, so
// that setting the date gives nobody's work away.
type kept struct {
	id    string
	until time.Time
}

// entry is a lease's ref as read.
type entry struct {
	lease lease.Lease
	blob  string // object id, git.Zero for no ref
	err   error  // why the lease is unreadable
	other bool   // because Ward did not write it for this directive
}

func (b *Book) now() time.Time {
	if b.Now != nil {
		return b.Now()
	}
	return time.Now()
}

func (b *Book) term() time.Duration { return b.Settings.Launch.Lease.Duration }

// keep notes a lease that was just granted or renewed.
func (b *Book) keep(l lease.Lease) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept == nil {
		b.kept = map[string]kept{}
	}
	b.kept[l.Directive] = kept{id: l.ID, until: time.Now().Add(b.term())}
}

// forget removes keep's note.
func (b *Book) forget(l lease.Lease) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept[l.Directive].id == l.ID {
		delete(b.kept, l.Directive)
	}
}

// keeps reports whether a lease is this process's and still holds.
func (b *Book) keeps(l lease.Lease) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	k, ok := b.kept[l.Directive]
	return ok && k.id == l.ID && time.Now().Before(k.until)
}

// read reads one directive's lease.
func (b *Book) read(ctx context.Context, directive string) (entry, error) {
	blob, err := b.Repo.Ref(ctx, lease.Ref(directive))
	if err != nil || blob == git.Zero {
		return entry{blob: git.Zero}, err
	}
	batch := b.Repo.Batch(ctx)
	defer batch.Close()
	return readBlob(batch, directive, blob), nil
}

func readBlob(batch *git.Batch, directive, blob string) entry {
	e := entry{blob: blob}
	_, data, err := batch.Read(blob, lease.MaxBytes)
	if err == nil {
		e.lease, err = lease.Parse(directive, data)
		e.other = err != nil
	}
	e.err = err
	return e
}

// all reads the leases by directive.
func (b *Book) all(ctx context.Context) (map[string]entry, error) {
	tips, err := b.Repo.Refs(ctx, lease.Prefix)
	if err != nil || len(tips) == 0 {
		return nil, err
	}
	batch := b.Repo.Batch(ctx)
	defer batch.Close()
	entries := make(map[string]entry, len(tips))
	for _, tip := range tips {
		if directive, err := lease.ParseRef(tip.Name); err == nil {
			entries[directive] = readBlob(batch, directive, tip.ID)
		}
	}
	return entries, nil
}

// swap moves a lease's ref from one entry to a lease, or deletes it. If another process was
// faster, nothing changes and it returns an error.
func (b *Book) swap(ctx context.Context, directive string, from entry, to *lease.Lease) (entry, error) {
	next := entry{blob: git.Zero}
	if to != nil {
		data, err := to.Format()
		if err != nil {
			return next, err
		}
		if next.blob, err = b.Repo.WriteObject("blob", data); err != nil {
			return next, err
		}
		next.lease = *to
	}
	ref := lease.Ref(directive)
	// No reflog, which would keep every blob for months. Nobody needs a lease's earlier
	// values; maintenance, which knows that nothing else refers to them, frees them.
	err := b.Repo.UpdateRefs(ctx, "", git.RefUpdate{Ref: ref, Old: from.blob, New: next.blob})
	if err != nil {
		b.Repo.LockedOut(ref) // left by a killed process: the next try succeeds
	}
	return next, err
}

// ErrLost means that a holder has lost its lease: it was revoked, or has expired and another
// has it.
var ErrLost = errors.New("it was revoked, or another has it")

// Renew extends a lease. ErrLost means that it is gone; after any other error it holds until
// its present end, and may be renewed again.
func (b *Book) Renew(ctx context.Context, l lease.Lease) (lease.Lease, error) {
	next, err := b.change(ctx, l, func(now lease.Lease) *lease.Lease {
		at := b.now()
		now = now.Renewed(at, b.term())
		if started := at.UTC().Truncate(time.Second); now.Since.After(started) { // the clock was put back
			now.Since = started
		}
		return &now
	})
	if err == nil {
		b.keep(next)
	}
	return next, err
}

// Release frees the directive of a lease. A lease that is gone is no error.
func (b *Book) Release(ctx context.Context, l lease.Lease) error {
	b.forget(l)
	_, err := b.change(ctx, l, func(lease.Lease) *lease.Lease { return nil })
	if errors.Is(err, ErrLost) {
		return nil
	}
	return err
}

// change changes a lease's ref while it is still the same lease, whatever its expiry is now.
func (b *Book) change(ctx context.Context, l lease.Lease, to func(lease.Lease) *lease.Lease) (lease.Lease, error) {
	now := l
	err := b.move(ctx, l.Directive, func(e entry) (*lease.Lease, error) {
		switch {
		case e.blob == git.Zero || e.other || e.err == nil && e.lease.ID != l.ID:
			return nil, ErrLost
		case e.err != nil:
			return nil, e.err
		}
		next := to(e.lease)
		if now = (lease.Lease{}); next != nil {
			now = *next
		}
		return next, nil
	})
	if err != nil {
		return l, err
	}
	return now, nil
}

// move moves a lease's ref to its next value, nil for deletion. Git may have reported an error
// for a ref that has its old value again, so the ref is read after any error.
func (b *Book) move(ctx context.Context, directive string, to func(entry) (*lease.Lease, error)) error {
	var last error
	err := git.Update(ctx, git.Race{What: lease.Ref(directive), While: "it was written", Tries: 11}, func() (bool, error) {
		e, err := b.read(ctx, directive)
		if err != nil {
			return false, err
		}
		next, err := to(e)
		if err != nil {
			return false, err
		}
		_, last = b.swap(ctx, directive, e, next)
		return last == nil, nil
	})
	if errors.Is(err, git.ErrLostRace) {
		return last
	}
	return err
}
