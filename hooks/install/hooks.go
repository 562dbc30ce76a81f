package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"git-ward/internal/atomicfile"
	"git-ward/internal/diag"
	"git-ward/internal/hookdir"
)

// hooks installs the hook binary under both names in the layout that findLayout found. An
// existing hook is kept and runs after Ward's (HOOK-6).
func (in *installer) hooks(ctx context.Context) error {
	want, err := os.ReadFile(in.Program)
	if err != nil {
		return err
	}
	if !in.DryRun {
		if err := errors.Join(os.MkdirAll(in.layout.Dir, 0o755), in.sweep()); err != nil {
			return err
		}
	}
	if err := in.keepLinks(); err != nil {
		return err
	}
	for _, name := range hookdir.Names {
		path := in.layout.Path(name)
		if path == filepath.Join(in.layout.Dir, name) {
			if err := in.keepChained(name); err != nil {
				return err
			}
			if err := in.removeStale(name); err != nil {
				return err
			}
		}
		if err := in.installHook(ctx, path, name, want); err != nil {
			return err
		}
	}
	return nil
}

// installHook writes one hook and records where it is.
func (in *installer) installHook(ctx context.Context, path, name string, want []byte) error {
	rel := hookdir.Relative(in.Dir, path)
	have, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil || !bytes.Equal(have, want) || in.linked(path) != "" {
		err := in.do(change("install", "%s%s", rel, layoutWords(path, name)), func() error { return atomicfile.Write(path, want, 0o755) })
		if err != nil {
			return err
		}
	} else if !in.DryRun {
		if err := os.Chmod(path, 0o755); err != nil {
			return err
		}
	}
	return in.settings.record(ctx, hookdir.Key(name), rel)
}

// layoutWords says what runs a hook that git does not run itself.
func layoutWords(path, name string) string {
	if filepath.Base(path) == name {
		return ""
	}
	return ", which the delegate " + name + " there runs"
}

// keepChained moves another's hook away from Ward's path. The first version kept it under a
// name of its own, with a wrong $0; that one is moved, too.
func (in *installer) keepChained(name string) error {
	path, chained := filepath.Join(in.layout.Dir, name), in.layout.Chained(name)
	ward := hookdir.IsWard(path) && in.linked(path) == ""
	for _, from := range []string{path, path + ".chained"} {
		if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) || err == nil && from == path && ward || from != path && !in.assumed() {
			continue
		} else if err != nil {
			return err
		}
		if from == path && sameFile(from, chained) {
			continue // a forge wrote its hook anew; installHook replaces it
		}
		if _, err := os.Lstat(chained); err == nil {
			return diag.Hint(fmt.Errorf("both %s and %s are somebody else's hooks", from, chained), "merge them into %s and remove %s", chained, from)
		}
		err := in.do(change("keep", "%s as %s; it runs after Ward's", hookdir.Relative(in.Dir, from), hookdir.Relative(in.Dir, chained)), func() error {
			return in.moveAside(from, chained, name)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// moveAside makes a hook a chained one. It also stays in place until Ward's replaces it, so
// that no push meanwhile runs without a hook.
func (in *installer) moveAside(from, chained, name string) error {
	if err := os.MkdirAll(filepath.Dir(chained), 0o755); err != nil {
		return err
	}
	if !slices.Contains(in.before.Hooks, name) {
		in.before.Hooks = append(in.before.Hooks, name)
		if err := in.before.save(); err != nil {
			return err
		}
	}
	if from != filepath.Join(in.layout.Dir, name) {
		return os.Rename(from, chained)
	}
	if os.Link(from, chained) == nil {
		return nil
	}
	return os.Rename(from, chained) // a file system without hard links
}

// sameFile reports whether two regular files hold the same bytes, or two links lead to the
// same place.
func sameFile(a, b string) bool {
	one, err1 := os.Readlink(a)
	two, err2 := os.Readlink(b)
	if err1 == nil || err2 == nil {
		return err1 == nil && err2 == nil && one == two
	}
	for _, path := range []string{a, b} {
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
			return false
		}
	}
	data, err1 := os.ReadFile(a)
	other, err2 := os.ReadFile(b)
	return err1 == nil && err2 == nil && bytes.Equal(data, other)
}

// removeStale removes Ward's hook from a delegate's directory when the delegate is gone.
func (in *installer) removeStale(name string) error {
	stale := in.layout.Stale(name)
	if !hookdir.IsWard(stale) {
		return nil
	}
	return in.do(change("remove", "%s: no delegate runs it", hookdir.Relative(in.Dir, stale)), func() error { return os.Remove(stale) })
}
