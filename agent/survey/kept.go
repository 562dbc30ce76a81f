package survey

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"git-ward/internal/atomicfile"
	"git-ward/internal/worktree"
	"git-ward/protocols/symbols"
)

// keptName is a file of the clone's git directory, maxKept its bound in bytes.
const (
	keptName = "ward-symbols.json"
	maxKept  = 256 << 20
)

// kept caches files' results by the hash of their text, so that after ten changed files a
// survey reads ten files. It is only a cache: errors with it are ignored.
type kept struct {
	path string
	old  map[string]*symbols.File
	now  map[string]*symbols.File // used by this survey: the rest is dropped
	made bool                     // something is new
}

// keptFile is the cache file's content.
type keptFile struct {
	Version int                      `json:"version"`
	Files   map[string]*symbols.File `json:"files"`
}

func openKept(ctx context.Context, tree *worktree.Tree) *kept {
	k := &kept{now: map[string]*symbols.File{}}
	repo, err := tree.Repo(ctx)
	if err != nil {
		return k
	}
	k.path = filepath.Join(repo.Dir, keptName)
	f, err := os.Open(k.path)
	if err != nil {
		return k
	}
	defer f.Close()
	var have keptFile
	if data, err := io.ReadAll(io.LimitReader(f, maxKept)); err == nil && json.Unmarshal(data, &have) == nil && have.Version == symbols.Version {
		k.old = have.Files
	}
	return k
}

func (k *kept) get(key string) (*symbols.File, bool) {
	f := k.old[key]
	if f != nil {
		k.now[key] = f
	}
	return f, f != nil
}

func (k *kept) put(key string, f *symbols.File) { k.now[key], k.made = f, true }

// save writes the cache if it has new entries, or far fewer.
func (k *kept) save() {
	if k.path == "" || !k.made && len(k.old) < 2*len(k.now)+100 {
		return
	}
	data, err := json.Marshal(keptFile{symbols.Version, k.now})
	if err == nil && len(data) < maxKept {
		err = atomicfile.Write(k.path, data, 0o644)
	}
	if err != nil {
		os.Remove(k.path)
	}
}
