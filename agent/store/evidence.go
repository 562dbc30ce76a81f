package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// evidenceSize bounds a file that is read from the branch.
const evidenceSize = 8 << 20

// File reads a file of the branch's newest commit, nil when it is not there. What
// the working tree says does not count.
func (w *Work) File(ctx context.Context, path string) ([]byte, error) {
	read, done := w.Files(ctx)
	defer done()
	return read(path)
}

// Files reads many files as File does, with one child for all of them until done.
func (w *Work) Files(ctx context.Context) (read func(path string) ([]byte, error), done func() error) {
	batch := git.Open(w.clone.gitDir()).Batch(ctx)
	return func(path string) ([]byte, error) {
		object, data, err := batch.Read("HEAD:"+path, evidenceSize)
		switch {
		case errors.Is(err, git.ErrMissing):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("%s of %s: %w", path, w.Branch, err)
		case object.Kind != "blob":
			return nil, fmt.Errorf("%s of %s is not a file", path, w.Branch)
		}
		return data, nil
	}, batch.Close
}

// List names the entries of a directory of the branch's newest commit; none where
// it is not there.
func (w *Work) List(ctx context.Context, dir string) ([]string, error) {
	out, err := w.clone.git(ctx, "ls-tree", "-z", "--name-only", "HEAD", "--", dir+"/")
	var names []string
	for name := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if name != "" {
			names = append(names, path.Base(name))
		}
	}
	return names, err
}

// Before is the commit before the newest one that changed a file.
func (w *Work) Before(ctx context.Context, path string) (string, error) {
	id, err := w.clone.git(ctx, "rev-list", "--max-count=1", "HEAD", "--", path)
	if err != nil {
		return "", err
	}
	return w.clone.resolve(ctx, id+"^")
}

// Change is a path that differs between two commits: its status letter as in
// git-diff(1), --name-status.
type Change struct{ Status, Path string }

// Changes lists what the branch changed since a commit, sorted by path; what came with
// the project is none of it. Renames are a deletion and an addition.
func (w *Work) Changes(ctx context.Context, since string) ([]Change, error) {
	all, err := w.differences(ctx, since)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	out, err := w.clone.git(ctx, "log", "-z", "--first-parent", "--diff-merges=combined", "--no-renames", "--name-only", "--format=",
		"HEAD", "^"+since, "^"+w.clone.store.projectRef(), "--")
	if err != nil {
		return nil, err
	}
	touched := map[string]bool{}
	for name := range strings.SplitSeq(out, "\x00") {
		touched[strings.TrimPrefix(name, "\n")] = true
	}
	return slices.DeleteFunc(all, func(c Change) bool { return !touched[c.Path] }), nil
}

// differences lists the paths by which the branch differs from a commit.
func (w *Work) differences(ctx context.Context, since string) ([]Change, error) {
	out, err := w.clone.git(ctx, "diff", "--name-status", "--no-renames", "-z", since, "HEAD", "--")
	if err != nil {
		return nil, err
	}
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	var list []Change
	for i := 0; i+1 < len(fields); i += 2 {
		list = append(list, Change{fields[i], fields[i+1]})
	}
	return list, nil
}

// Commit writes files into the branch and commits them; the next Offer takes them
// along. Without files it commits whatever the working tree holds: looking for that
// takes the longer the more evidence lies there. What is there already, byte for
// byte, makes no commit.
func (w *Work) Commit(ctx context.Context, subject string, files map[string][]byte) error {
	if err := w.clone.ensure(ctx); err != nil { // a model may have changed settings
		return err
	}
	if err := w.write(files); err != nil {
		return err
	}
	if len(files) == 0 {
		if err := w.ready(ctx); err != nil {
			return err
		}
	} else if err := w.addOnly(ctx, files); err != nil {
		return err
	}
	if _, err := w.clone.git(ctx, "diff", "--cached", "--quiet"); err == nil {
		return nil
	}
	message := fmt.Sprintf("%s\n\n%s: %s\n%s: %s\n", diag.Clean(subject), trailerDirective, w.Directive.Name(), trailerHash, w.Directive.Hash())
	_, _, err := w.clone.store.runInput(ctx, w.clone.dir, message, "commit", "--quiet", "--no-verify", "--cleanup=verbatim", "--file=-")
	return err
}

// addOnly takes files into the index, whatever the tree's .gitignore says.
func (w *Work) addOnly(ctx context.Context, files map[string][]byte) error {
	if err := w.committable(ctx); err != nil {
		return err
	}
	_, err := w.clone.git(ctx, append([]string{"add", "--force", "--"}, slices.Sorted(maps.Keys(files))...)...)
	return err
}

// write puts files into the working tree. Nothing that a model left there, such
// as a link, leads out of it.
func (w *Work) write(files map[string][]byte) error {
	root, err := os.OpenRoot(w.clone.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for name, data := range files {
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		if info, err := root.Lstat(name); err == nil && !info.Mode().IsRegular() {
			if err := root.RemoveAll(name); err != nil {
				return err
			}
		}
		if err := root.WriteFile(name, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
