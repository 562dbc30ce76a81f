package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// goCache is the cache of the agent's Go.
func (s *Store) goCache() string { return filepath.Join(s.home(), ".cache", "go-build") }

// linkStd makes Go's cache from links to the files of another, which the agent can only read: what Go
// writes is the agent's own. A cache that is there stays as it is. What of the other cannot be read is
// left out, because Go compiles what it does not find.
func linkStd(std, cache string) error {
	if _, err := os.Lstat(cache); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	err := filepath.WalkDir(std, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		name, err := filepath.Rel(std, path)
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(filepath.Join(cache, name), 0o755)
		case name == trimmed:
			return nil
		}
		return os.Symlink(path, filepath.Join(cache, name))
	})
	if err != nil {
		return err
	}
	// Go removes what it has not used for days. It cannot mark a link as used, and looks once a day.
	return os.WriteFile(filepath.Join(cache, trimmed), fmt.Appendf(nil, "%d\n", time.Now().Unix()), 0o644)
}

// trimmed is the file in which Go says when it last removed old entries.
const trimmed = "trim.txt"
