package fsck

import (
	"maps"
	"slices"

	"git-ward/hooks/audit"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/protocols/state"
)

// tombstones are the PM's redactions: statements about an old commit apply to its replacement
// (REC-5).
type tombstones struct {
	commits map[string]string // the one in place of each that was rewritten
	blobs   map[string]bool   // what stands in place of what was removed
}

// now is a commit's replacement, or itself.
func (t tombstones) now(commit string) string {
	for range len(t.commits) {
		next := t.commits[commit]
		if next == "" {
			break
		}
		commit = next
	}
	return commit
}

// covers reports whether a file (REF:PATH) is one that the PM redacted.
func (t tombstones) covers(o *objects, file string) bool {
	if len(t.blobs) == 0 {
		return false
	}
	object, err := o.batch.Info(file)
	return err == nil && t.blobs[object.ID]
}

// bury reads the chain's tombstones.
func (c *chainProof) bury() (t tombstones) {
	t = tombstones{map[string]string{}, map[string]bool{}}
	var gone []string
	for _, l := range c.links {
		if l.Tombstone == "" {
			continue
		}
		stone, err := audit.ReadTombstone(c.objects.batch, l.Tombstone)
		if err != nil {
			c.report.add(state.AuditRef, "fsck/redacted", byHand, "the tombstone beside record %d cannot be read: %v", l.ID, err)
			continue
		}
		maps.Copy(t.commits, stone.Commits)
		for _, o := range stone.Objects {
			t.blobs[o.Stone] = true
			gone = append(gone, o.Blob)
		}
	}
	c.listed(gone)
	return t
}

// listed verifies that the gate knows what was redacted: its list is an index of the
// tombstones.
func (c *chainProof) listed(gone []string) {
	if _, err := config.Load(c.repo.Dir); err != nil || len(gone) == 0 {
		return // a clone
	}
	known, err := audit.ReadRedacted(c.repo)
	missing := slices.DeleteFunc(gone, func(id string) bool { return known[id] })
	if err == nil && len(missing) > 0 && c.repair {
		if err = audit.AddRedacted(c.repo, missing...); err == nil {
			c.report.repair("listed %s that must not come back", diag.Count(len(missing), "redacted object"))
			return
		}
	}
	switch {
	case err != nil:
		c.report.add(state.AuditRef, "fsck/redacted", "move it away, and git ward fsck --repair writes it anew", "the list of what was redacted: %v", err)
	case len(missing) > 0:
		c.report.add(state.AuditRef, "fsck/redacted", "git ward fsck --repair lists them", "the gate does not know of %s that must not come back, the first is %s",
			diag.Count(len(missing), "redacted object"), diag.Short(missing[0]))
	}
}
