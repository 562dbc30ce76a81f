// Package worktree gives commands a clone with its working tree: file access that cannot leave
// the tree, and git with the caller's environment and identity.
package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"git-ward/internal/atomicfile"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/glob"
)

// Tree is a working tree.
type Tree struct {
	Dir string   // its top, absolute
	Env []string // of git; nil is the environment of this process

	checkout  *git.Checkout // how git runs in it, when that was asked
	repo      *git.Repo     // its repository, when that was asked
	record    *string       // where the record is shown in it, when that was asked
	documents *string       // where control's documents are read, when that was asked
}

// how is how git runs in the tree: for a person, so that the tree's settings run
// nothing (GATE-7); an agent's own git runs in the agent's own tree.
func (t *Tree) how(ctx context.Context) (_ *git.Checkout, err error) {
	if t.checkout == nil && t.Env != nil {
		t.checkout = &git.Checkout{Env: git.Harden(t.Env)}
	}
	if t.checkout == nil {
		t.checkout, err = git.InCheckout(ctx, t.Dir, os.Environ())
	}
	return t.checkout, err
}

// Find returns the working tree that contains dir.
func Find(dir string) (*Tree, error) {
	for top := dir; ; top = filepath.Dir(top) {
		if _, err := os.Stat(filepath.Join(top, ".git")); err == nil {
			return &Tree{Dir: top}, nil
		}
		if top == filepath.Dir(top) {
			return nil, diag.Hint(fmt.Errorf("%s is not in a working tree", dir), "run it in a clone of a ward repository")
		}
	}
}

// Repo is the tree's repository, by its git directory.
func (t *Tree) Repo(ctx context.Context) (*git.Repo, error) {
	if t.repo == nil && t.Env != nil { // an agent's, which is as git init makes it
		if info, err := os.Lstat(filepath.Join(t.Dir, ".git")); err == nil && info.IsDir() {
			t.repo = git.Open(filepath.Join(t.Dir, ".git"))
		}
	}
	if t.repo == nil {
		dir, err := t.Git(ctx, "rev-parse", "--absolute-git-dir")
		if err != nil {
			return nil, err
		}
		t.repo = git.Open(dir)
	}
	return t.repo, nil
}

// Head returns the full name of the current branch, "" for none, and the commit of HEAD.
func (t *Tree) Head(ctx context.Context) (branch, commit string, err error) {
	repo, err := t.Repo(ctx)
	if err != nil {
		return "", "", err
	}
	if branch, err = repo.Head(ctx); err != nil {
		return "", "", err
	}
	commit, err = repo.Commit(ctx, "HEAD")
	return branch, commit, err
}

// Git runs git at the top and returns its output without the last line end.
func (t *Tree) Git(ctx context.Context, args ...string) (string, error) {
	out, err := t.GitInput(ctx, nil, nil, args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

// GitInput runs git with additional environment and bytes as standard input. The error is
// ChildError's.
func (t *Tree) GitInput(ctx context.Context, env []string, stdin []byte, args ...string) ([]byte, error) {
	how, err := t.how(ctx)
	if err != nil {
		return nil, err
	}
	cmd := how.Child(ctx, t.Dir, args...).AtTerminal()
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdin = bytes.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		err = git.ChildError(ctx, args[0], err, errs.Bytes())
		if git.Transports(args[0]) {
			err = how.Explain(err)
		}
		return nil, err
	}
	return out.Bytes(), nil
}

// TooLarge is the error for a file over the caller's limit.
type TooLarge struct {
	Path        string
	Size, Limit int64
}

func (e *TooLarge) Error() string {
	return fmt.Sprintf("%s has %d bytes, more than %d", e.Path, e.Size, e.Limit)
}

// Read reads a regular file, by its path with forward slashes, of at most limit
// bytes. A link that leads out of the tree is not followed.
func (t *Tree) Read(path string, limit int64) ([]byte, error) {
	root, err := os.OpenRoot(t.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(filepath.FromSlash(path))
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > limit:
		return nil, &TooLarge{path, info.Size(), limit}
	}
	return root.ReadFile(filepath.FromSlash(path))
}

// Write replaces a file atomically, or creates it with its directories. An executable file
// stays executable.
func (t *Tree) Write(path string, data []byte) error {
	name := filepath.Join(t.Dir, filepath.FromSlash(path))
	root, err := os.OpenRoot(t.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	dir := filepath.Dir(filepath.FromSlash(path))
	if err := root.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if info, err := root.Lstat(filepath.FromSlash(path)); err == nil {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file", path)
		}
		mode = info.Mode().Perm()
	}
	// The root has refused a directory that is a link out of the tree.
	if git := filepath.Join(t.Dir, ".git"); isDir(git) {
		return replace(git, name, data, mode)
	}
	return atomicfile.Write(name, data, mode)
}

// tempPrefix marks files below .git that a kill may leave.
const tempPrefix = "ward-write-"

// replace is atomicfile.Write with the temporary file below .git, where nobody
// commits what a kill leaves of it.
func replace(git, name string, data []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(git, tempPrefix)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
		if errors.Is(err, syscall.EXDEV) { // another disk below the working tree
			return atomicfile.Write(name, data, mode)
		}
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(name))
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Sweep removes temporary files below .git that a killed Write or a killed caller left, once
// nobody can be using them.
func (t *Tree) Sweep(prefixes ...string) {
	for _, prefix := range append(prefixes, tempPrefix) {
		old, _ := glob.Below(filepath.Join(t.Dir, ".git"), prefix+"*")
		for _, path := range old {
			digits := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), prefix), ".lock")
			if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > time.Hour && strings.Trim(digits, "0123456789") == "" {
				os.Remove(path)
			}
		}
	}
}

// Walk lists the regular files below a directory, in order of their paths, with forward
// slashes and from the top of the tree. A missing directory gives none. Links are not
// followed.
func (t *Tree) Walk(dir string, keep func(path string) bool) (paths []string, err error) {
	root, err := os.OpenRoot(t.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), strings.TrimSuffix(dir, "/"), func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.Type().IsRegular() && keep(path):
			paths = append(paths, path)
		}
		return nil
	})
	return paths, err
}
