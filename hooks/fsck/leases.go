package fsck

import (
	"context"
	"errors"
	"time"

	"git-ward/hooks/leases"
	"git-ward/internal/diag"
	"git-ward/protocols/state"
)

// leases proves that each lease of a directive can be read and believed (MANY-2): nobody
// works by one that cannot, and nobody takes it over. A clone's clock is not the gate's.
func (w *workProof) leases(ctx context.Context) error {
	if bare, err := isBare(ctx, w.repo); err != nil || !bare {
		return err
	}
	all, err := leases.List(ctx, w.repo, w.objects.batch, time.Now())
	if err != nil || len(all) == 0 {
		return err
	}
	control, err := state.ReadComms(w.reader, w.settings.Control.Ref())
	if err != nil {
		return err
	}
	for _, e := range all {
		switch {
		case e.Directive == "":
			w.report.add(diag.Clean(e.Ref), "fsck/lease", "delete it on the host: git update-ref -d", "%v", e.Broken)
		case e.Broken != nil:
			hint := "git ward lease revoke " + e.Directive
			var hinted *diag.Hinted
			if errors.As(e.Broken, &hinted) {
				hint = hinted.Hint
			}
			w.report.add(e.Ref, "fsck/lease", hint, "%s", diag.Clean(e.Broken.Error()))
		case control.Directive(e.Directive) == nil:
			w.report.add(e.Ref, "fsck/lease", "git ward lease revoke "+e.Directive, "%s has the lease of %s, and there is no such directive", e.Lease.Holder, e.Directive)
		}
	}
	return nil
}
