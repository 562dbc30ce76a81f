package git

import (
	"os"
	"path/filepath"
	"time"
)

// staleAfter is the age at which git's lock on a ref belongs to nobody: who moves such a
// ref is one at a time, and an update-ref lives for milliseconds.
const staleAfter = 5 * time.Second

// LockedOut reports whether git's lock file stands on one of the refs, which only the
// caller moves, and removes one that a killed process left for ever.
func (r *Repo) LockedOut(refs ...string) bool {
	locked := false
	for _, ref := range refs {
		path := filepath.Join(r.Dir, ref+".lock")
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		locked = true
		if time.Since(info.ModTime()) > staleAfter {
			os.Remove(path)
		}
	}
	return locked
}
