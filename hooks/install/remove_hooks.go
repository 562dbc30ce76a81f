package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ward/internal/hookdir"
)

// hooksBack restores the hooks that Ward's replaced.
func (r *remover) hooksBack(context.Context) error {
	for _, name := range hookdir.Names {
		path := r.layout.Path(name)
		if !hookdir.IsWard(path) {
			path = filepath.Join(r.layout.Dir, name)
		}
		chained, rel := r.layout.Chained(name), hookdir.Relative(r.Dir, path)
		_, missing := os.Lstat(chained)
		_, gone := os.Lstat(path)
		switch {
		case missing == nil && (gone != nil || hookdir.IsWard(path) || sameFile(path, chained)):
			r.step(change("put", "%s back as %s", hookdir.Relative(r.Dir, chained), rel), func() error { return renameAgain(chained, path) })
		case missing == nil:
			r.plan.Stays = append(r.plan.Stays, fmt.Sprintf("%s, because %s is not Ward's any more", hookdir.Relative(r.Dir, chained), rel))
		case hookdir.IsWard(path):
			r.step(change("remove", "%s", rel), func() error { return removeAgain(path) })
		}
		if stale := r.layout.Stale(name); stale != path && hookdir.IsWard(stale) {
			r.step(change("remove", "%s", hookdir.Relative(r.Dir, stale)), func() error { return removeAgain(stale) })
		}
	}
	if err := r.linksBack(); err != nil {
		return err
	}
	dir := hookdir.ChainedDir(r.layout.Dir)
	if _, err := os.Lstat(dir); err == nil {
		r.step(change("remove", "%s/", hookdir.Relative(r.Dir, dir)), func() error { return removeLinks(dir) })
	}
	if entries, err := os.ReadDir(r.layout.Dir); err == nil && r.before.known && !r.before.HooksDir && r.onlyWard(entries) {
		r.step(change("remove", "%s/", hookdir.Relative(r.Dir, r.layout.Dir)), func() error { return removeEmpty(r.layout.Dir) })
	}
	return nil
}

// onlyWard reports whether a directory of hooks holds Ward's and nothing else.
func (r *remover) onlyWard(entries []os.DirEntry) bool {
	return !slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return !hookdir.IsWard(filepath.Join(r.layout.Dir, e.Name()))
	})
}

// renameAgain renames a file, unless that was done.
func renameAgain(from, to string) error {
	err := os.Rename(from, to)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	// Two names of one file, from an init that was killed, are not renamed (rename(2)).
	return errors.Join(err, removeAgain(from))
}

func removeAgain(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// removeEmpty removes a directory if nothing is in it.
func removeEmpty(dir string) error {
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		return nil
	}
	return removeAgain(dir)
}

// removeLinks removes the links that a chained hook's siblings were shown by, and the
// directory when nothing else is in it.
func removeLinks(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	beside := filepath.Join("..", strings.TrimSuffix(filepath.Base(dir), ".chained"))
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if to, err := os.Readlink(path); err == nil && to == filepath.Join(beside, e.Name()) {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return removeEmpty(dir)
}
