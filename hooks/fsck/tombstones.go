package fsck

import (
	"maps"

	"git-ward/hooks/audit"
)

// tombstones are what the PM redacted: what was said of a commit before that holds for
// the one in its place (REC-5).
type tombstones struct {
	commits map[string]string // the one in place of each that was rewritten
	blobs   map[string]bool   // what stands in place of what was removed
}

// now is the commit that stands in a commit's place: itself, where nothing was redacted.
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

// bury reads the tombstones of the chain.
func (c *chainProof) bury() (t tombstones) {
	t = tombstones{map[string]string{}, map[string]bool{}}
	for _, l := range c.links {
		if l.Tombstone == "" {
			continue
		}
		stone, err := audit.ReadTombstone(c.objects.batch, l.Tombstone)
		if err != nil {
			c.report.add(audit.ChainRef, "fsck/redacted", byHand, "the tombstone beside record %d cannot be read: %v", l.ID, err)
			continue
		}
		maps.Copy(t.commits, stone.Commits)
		for _, o := range stone.Objects {
			t.blobs[o.Stone] = true
		}
	}
	return t
}
