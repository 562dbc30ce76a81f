// Package leases reads directives' leases for the gate, says who may work under them, and
// revokes them (MANY-2). Only launchers grant leases.
package leases

import (
	"context"
	"errors"
	"fmt"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/lease"
)

// Standing is a directive's lease at one moment of the gate's clock.
type Standing struct {
	// Object is what the ref points to, "" where there is no lease.
	Object string
	// Lease is meaningful where Object is not "" and Broken is nil.
	Lease lease.Lease
	// Broken says why the lease cannot be read, or believed: nobody works by it, and it is
	// not free either.
	Broken error
	now    time.Time
}

// Read reads a directive's lease as it is now. An error is trouble with the repository.
func Read(batch *git.Batch, directive string, now time.Time) (Standing, error) {
	object, err := batch.Tip(lease.Ref(directive))
	if err != nil || object == "" {
		return Standing{now: now}, err
	}
	return read(batch, directive, object, now)
}

func read(batch *git.Batch, directive, object string, now time.Time) (Standing, error) {
	s := Standing{Object: object, now: now}
	o, data, err := batch.Read(object, lease.MaxBytes)
	var large *git.TooLarge
	switch {
	case errors.As(err, &large), errors.Is(err, git.ErrMissing), errors.Is(err, git.ErrDamaged):
	case err != nil:
		return s, err
	case o.Kind != "blob":
		err = fmt.Errorf("it is a %s, not a blob", o.Kind)
	}
	if err != nil {
		s.Broken = diag.Hint(fmt.Errorf("the lease of %s cannot be read: %w", directive, err), "git ward lease --revoke %s", directive)
		return s, nil
	}
	if s.Lease, s.Broken = lease.Parse(directive, data); s.Broken == nil {
		s.Broken = s.Lease.Doubt(now)
	}
	return s, nil
}

// Held reports whether nobody but a holder may work on the directive: there is a lease, and
// it is not free to be taken.
func (s Standing) Held() bool { return s.Object != "" && (s.Broken != nil || !s.Lease.Free(s.now)) }

// Lost says why the lease with an id gives no rights, "" if it is live.
func (s Standing) Lost(id string) string {
	switch {
	case s.Object == "":
		return "it was given back or revoked"
	case s.Broken != nil:
		return diag.Clean(s.Broken.Error())
	case s.Lease.ID != id:
		return "somebody else has it since " + s.Lease.Since.Format(time.RFC3339)
	case !s.Lease.Live(s.now):
		return "it ended at " + s.Lease.Until.Format(time.RFC3339) + " and was not renewed"
	}
	return ""
}

// Entry is the lease of one ref. Its Directive is "" if the ref's name is not a lease's.
type Entry struct {
	Ref, Directive string
	Standing
}

// List reads all leases, in the order of their refs' names.
func List(ctx context.Context, repo *git.Repo, batch *git.Batch, now time.Time) (all []Entry, err error) {
	tips, err := repo.Refs(ctx, lease.Prefix)
	if err != nil {
		return nil, err
	}
	for _, tip := range tips {
		e := Entry{Ref: tip.Name, Standing: Standing{Object: tip.ID, now: now}}
		if e.Directive, e.Broken = lease.ParseRef(tip.Name); e.Broken == nil {
			if e.Standing, err = read(batch, e.Directive, tip.ID, now); err != nil {
				return nil, err
			}
		}
		all = append(all, e)
	}
	return all, nil
}
