package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Tidy removes the working clones whose commit is in main, but for those that
// keep names, and returns their names. Call it after Main.
func (s *Store) Tidy(ctx context.Context, keep func(directive string) bool) ([]string, error) {
	dir := filepath.Join(s.State, "agent")
	entries, err := os.ReadDir(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	var removed []string
	for _, e := range entries {
		if keep(e.Name()) {
			continue
		}
		c := &clone{store: s, dir: filepath.Join(dir, e.Name(), s.name)}
		if ok, err := s.merged(ctx, c); !ok || err != nil {
			if err != nil {
				return removed, err
			}
			continue
		}
		if err := removeAll(filepath.Join(dir, e.Name())); err != nil {
			return removed, err
		}
		removed = append(removed, e.Name())
	}
	return removed, nil
}

// merged reports whether main contains all commits of a clone. An unreadable clone is kept.
func (s *Store) merged(ctx context.Context, c *clone) (bool, error) {
	head, err := c.resolve(ctx, "HEAD")
	if err != nil || head == "" {
		return false, ctx.Err()
	}
	return s.Merged(ctx, head)
}
