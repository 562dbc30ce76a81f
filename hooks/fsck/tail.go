package fsck

import (
	"context"

	"git-ward/hooks/audit"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/state"
)

// tail compares the chain's end with its reflog, because a chain that was reset to an older
// record is consistent, but shorter.
func (c *chainProof) tail(ctx context.Context) error {
	in := make(map[string]bool, len(c.links))
	for _, l := range c.links {
		in[l.Commit] = true
	}
	tip, last, lost := c.links[len(c.links)-1].Commit, "", ""
	ok, err := audit.Reflog(c.repo, state.AuditRef, 0, func(m audit.Move) {
		if last = m.New; !in[m.New] && m.New != git.Zero {
			lost = m.New
		}
	})
	if err != nil {
		return err
	}
	switch {
	case !ok || last == "":
		c.report.warn(state.AuditRef, "fsck/tail", compareTail, "it has no reflog, so a record gone from its end would not show here")
	case lost != "":
		return c.restore(ctx, tip, lost)
	case last != tip:
		c.report.add(state.AuditRef, "fsck/tail", compareTail, "it is at %s, but its reflog ends at %s", diag.Short(tip), diag.Short(last))
	}
	return nil
}

// restore reports a cut end of the chain and, for a repair, restores it if nothing was
// recorded since.
func (c *chainProof) restore(ctx context.Context, tip, lost string) error {
	r, err := audit.Read(c.objects.batch, lost)
	if err != nil {
		c.report.add(state.AuditRef, "fsck/tail", restoreChain, "records are gone from its end: the reflog knows %s, which is not stored any more", diag.Short(lost))
		return nil
	}
	ahead, err := c.repo.Exits(ctx, "merge-base", "--is-ancestor", tip, lost)
	if err != nil {
		return err
	}
	switch {
	case ahead && c.repair:
		if err := c.repo.UpdateRefs(ctx, "ward: fsck --repair", git.RefUpdate{Ref: state.AuditRef, Old: tip, New: lost}); err != nil {
			return err
		}
		c.report.repair("put back the end of the chain, up to record %d", r.ID)
		return c.read(ctx)
	case ahead:
		c.report.add(state.AuditRef, "fsck/tail", "git ward fsck --repair puts it back", "its end was cut: the reflog knows record %d (%s)", r.ID, diag.Short(lost))
	default:
		c.report.add(state.AuditRef, "fsck/tail", "compare both: git log "+diag.Short(lost), "its end was cut and others were recorded since: the reflog knows record %d (%s)", r.ID, diag.Short(lost))
	}
	return nil
}
