package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"git-ward/internal/atomicfile"
)

// goCache is the cache of the agent's Go.
func (s *Store) goCache() string { return filepath.Join(s.home(), ".cache", "go-build") }

// linkStd gives Go's cache links to the files of another, which the agent can only read: what Go writes
// is the agent's own. "" is none. What is in the cache stays, except links that lead nowhere: the disk
// may have them from a container of another image, and Go takes them for files that it cannot write.
func linkStd(std, cache string) error {
	err := filepath.WalkDir(cache, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type() == fs.ModeSymlink {
			if _, gone := os.Stat(path); gone != nil {
				return os.Remove(path)
			}
		}
		return nil
	})
	if err != nil || std == "" {
		return err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	err = filepath.WalkDir(std, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // Go compiles what it does not find
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
		if err := os.Symlink(path, filepath.Join(cache, name)); !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	// Go removes what it has not used for days. It cannot mark a link as used, and looks once a day. An agent
	// may have left a link or a pipe here, which is replaced and not followed.
	return atomicfile.Write(filepath.Join(cache, trimmed), fmt.Appendf(nil, "%d\n", time.Now().Unix()), 0o644)
}

// trimmed is the file in which Go says when it last removed old entries.
const trimmed = "trim.txt"
