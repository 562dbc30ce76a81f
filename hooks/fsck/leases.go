package fsck

import (
	"context"
	"errors"
	"slices"
	"time"

	"git-ward/hooks/leases"
	"git-ward/internal/diag"
	"git-ward/protocols/state"
)

// drop is the remedy for a ref that nothing of Ward's reads: the ref itself goes, and not what it may
// name.
const drop = "delete it on the host: git update-ref --no-deref -d"

// leases verifies that each lease is readable and plausible (MANY-2): otherwise nobody works
// by it, and nobody takes it over. A clone's clock is not the gate's.
func (w *workProof) leases(ctx context.Context) error {
	if bare, err := w.repo.Bare(ctx); err != nil || !bare {
		return err
	}
	now := time.Now()
	all, err := leases.List(ctx, w.repo, w.objects.batch, now)
	if err != nil || len(all) == 0 {
		return err
	}
	control, err := state.ReadComms(w.reader, w.settings.Control.Ref())
	if err != nil {
		return err
	}
	units, _, err := state.Units(w.reader)
	if err != nil {
		return err
	}
	// Whoever works on a directive that the PM removes from the list has the lease until its
	// unit is archived (MANY-1).
	puttingAway := func(e leases.Entry) bool {
		return e.Lease.Live(now) && slices.ContainsFunc(units, func(u state.Unit) bool { return u.ID.Directive == e.Directive })
	}
	for _, e := range all {
		switch {
		case e.Directive == "":
			w.report.add(diag.Clean(e.Ref), "fsck/lease", drop, "%v", e.Broken)
		case e.Broken != nil:
			hint := "git ward lease --revoke " + e.Directive
			if hinted, ok := errors.AsType[*diag.Hinted](e.Broken); ok {
				hint = hinted.Hint
			}
			w.report.add(e.Ref, "fsck/lease", hint, "%s", diag.Clean(e.Broken.Error()))
		case control.Directive(e.Directive) == nil && !puttingAway(e):
			w.report.add(e.Ref, "fsck/lease", "git ward lease --revoke "+e.Directive, "%s has the lease of %s, and there is no such directive", e.Lease.Holder, e.Directive)
		}
	}
	return nil
}
