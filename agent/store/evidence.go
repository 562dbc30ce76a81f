package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/git"
)

// evidenceSize bounds a file that is read from the branch.
const evidenceSize = 8 << 20

// File reads a file of the branch's newest commit, nil when there is none: a submodule is
// no file. What the working tree says does not count.
func (w *Work) File(ctx context.Context, path string) ([]byte, error) {
	read, done := w.Files(ctx)
	defer done()
	return read(path)
}

// Files reads many files as File does, with one child for all of them until done; with
// a record, it is the record's, which stays.
func (w *Work) Files(ctx context.Context) (read func(path string) ([]byte, error), done func() error) {
	if w.Record != nil {
		return func(path string) ([]byte, error) {
			return w.Record.read(ctx, "HEAD", w.Branch, path)
		}, func() error { return nil }
	}
	batch := w.clone.repo().Batch(ctx)
	return func(path string) ([]byte, error) {
		object, data, err := batch.Read("HEAD:"+path, evidenceSize)
		switch {
		case errors.Is(err, git.ErrMissing):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("%s of %s: %w", path, w.Branch, err)
		case object.Kind != "blob":
			return nil, nil
		}
		return data, nil
	}, batch.Close
}

// Change is a path that differs between two commits: its status letter as in
// git-diff(1), --name-status.
type Change struct {
	Status, Path string
	Special      bool // a link or a submodule by now
}

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

// Carried lists what the branch changed since it left the project, as Changes does.
func (w *Work) Carried(ctx context.Context) ([]Change, error) {
	base, err := w.forked(ctx)
	if err != nil {
		return nil, err
	}
	return w.Changes(ctx, base)
}

// differences lists the paths that differ between the branch and a commit.
func (w *Work) differences(ctx context.Context, since string) ([]Change, error) {
	out, err := w.clone.git(ctx, "diff", "--raw", "--no-abbrev", "--no-renames", "-z", since, "HEAD", "--")
	if err != nil {
		return nil, err
	}
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	var list []Change
	for i := 0; i+1 < len(fields); i += 2 { // ":100644 120000 ID ID T", and the path
		if words := strings.Fields(fields[i]); len(words) == 5 {
			list = append(list, Change{Status: words[4], Path: fields[i+1], Special: !strings.HasPrefix(words[1], "100")})
		}
	}
	return list, nil
}

// forked is the branch's merge base with the project.
func (w *Work) forked(ctx context.Context) (string, error) {
	reader := w.clone.repo().Reader(ctx)
	defer reader.Close()
	head, err := reader.Tip("HEAD^{commit}")
	if err != nil {
		return "", err
	}
	project, err := reader.Tip(w.clone.store.projectRef() + "^{commit}")
	if err != nil {
		return "", err
	}
	if project != "" && head == project || reader.Follows(head, project) {
		return project, nil
	}
	return w.clone.git(ctx, "merge-base", head, project)
}
