package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"git-ward/internal/branches"
	"git-ward/internal/cited"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/lesson"
	"git-ward/protocols/plan"
)

// Tree is a working tree, read through an os.Root: links that lead out of it lead
// nowhere. It is a plan.Tree.
type Tree struct {
	Top  string // absolute
	root *os.Root
	repo *git.Repo // nil outside a repository
}

// OpenTree opens the working tree around dir; outside a repository, dir itself.
func OpenTree(ctx context.Context, dir string) (*Tree, error) {
	t := &Tree{Top: dir}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			t.Top = at
			repo, err := git.Discover(ctx, at)
			if err != nil {
				return nil, err
			}
			t.repo = repo
			break
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	var err error
	t.root, err = os.OpenRoot(t.Top)
	return t, err
}

// Close closes it.
func (t *Tree) Close() error { return t.root.Close() }

// Kind is the kind of what a path names.
func (t *Tree) Kind(path string) (plan.Kind, error) {
	info, err := t.root.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return plan.Missing, nil
	case err != nil:
		return plan.Other, nil // a link leads out
	case info.Mode().IsRegular():
		return plan.File, nil
	case info.IsDir():
		return plan.Folder, nil
	}
	return plan.Other, nil
}

// ReadFile reads a regular file of at most limit bytes.
func (t *Tree) ReadFile(path string, limit int64) ([]byte, error) {
	if kind, err := t.Kind(path); err != nil || kind != plan.File {
		return nil, errors.Join(err, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist})
	}
	info, err := t.root.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%s: %w", path, diag.ErrTooLarge)
	}
	return t.root.ReadFile(path)
}

// Machine reads a machine from the control branch, as plans do: origin's, or else the local
// one.
func (t *Tree) Machine(ctx context.Context) func(path string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		if t.repo == nil {
			return nil, fs.ErrNotExist
		}
		batch := t.repo.Batch(ctx)
		defer batch.Close()
		names, err := branches.Of(ctx, t.repo)
		if err != nil {
			return nil, err
		}
		for _, ref := range []string{names.ControlRef(), names.Control.Ref()} {
			if _, err := batch.Info(ref); errors.Is(err, git.ErrMissing) {
				continue
			} else if err != nil {
				return nil, err
			}
			object, data, err := batch.Read(ref+":"+path, plan.MaxBytes)
			if errors.Is(err, git.ErrMissing) || err == nil && object.Kind != "blob" {
				return nil, fs.ErrNotExist
			}
			return data, err
		}
		return nil, fs.ErrNotExist
	}
}

// Linter lints plans of the tree.
func (t *Tree) Linter(ctx context.Context) *plan.Linter { return t.linterIn(ctx, t) }

// linterIn lints them as they are in another tree of the repository.
func (t *Tree) linterIn(ctx context.Context, tree plan.Tree) *plan.Linter {
	l := plan.NewLinter(tree, t.Machine(ctx))
	if t.repo != nil {
		l.Citations(cited.In(ctx, t.repo, lesson.Path, lesson.Ref))
	}
	return l
}

// Files lists the files of the tree, those that git ignores left out.
func (t *Tree) Files(ctx context.Context) ([]string, error) {
	if t.repo != nil {
		out, err := t.repo.Output(ctx, "-C", t.Top, "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "-z")
		if err != nil {
			return nil, err
		}
		var list []string
		for name := range strings.SplitSeq(string(out), "\x00") {
			if _, err := t.root.Lstat(name); err == nil && name != "" {
				list = append(list, name)
			}
		}
		return list, nil
	}
	var list []string
	err := fs.WalkDir(t.root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			list = append(list, path)
		}
		return err
	})
	return list, err
}

// rel turns an argument of the command line into a path of the tree.
func (t *Tree) rel(env *cli.Env, arg string) (string, error) {
	path, err := filepath.Rel(t.Top, env.Path(arg))
	if err != nil || !filepath.IsLocal(path) {
		return "", diag.Hint(fmt.Errorf("%s is not in the working tree %s", arg, t.Top), "name a file of the repository")
	}
	return filepath.ToSlash(path), nil
}
