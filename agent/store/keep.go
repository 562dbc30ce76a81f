package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ward/internal/git"
	"git-ward/internal/worktree"
	"git-ward/protocols/record"
)

// trailerKept marks a commit of a worker's changes from before a plan existed: its first
// parent is the work's commit before them.
const trailerKept = "Ward-Kept"

// Changed is the tree of what the working tree holds, and the names of what differs from a
// commit of the work, as `git diff --name-status` has them. The paths without are taken as
// the commit has them. Nothing is touched. The error is stop.Refused where the tree cannot
// be committed.
func (w *Work) Changed(ctx context.Context, from string, without ...string) (tree string, changes []string, err error) {
	if err := w.clone.ensure(ctx); err != nil { // a model may have changed settings
		return "", nil, err
	}
	if err := w.clone.exclude(); err != nil {
		return "", nil, err
	}
	x := index{w.clone.tree(), filepath.Join(w.clone.gitDir(), "ward-index")}
	defer os.Remove(x.path)
	if err := removeAll(x.path); err != nil {
		return "", nil, err
	}
	if _, err := x.git(ctx, "read-tree", from); err != nil {
		return "", nil, err
	}
	if _, err := x.git(ctx, "add", "--all"); err != nil {
		if ctx.Err() != nil {
			return "", nil, err
		}
		return "", nil, refuse("the working tree cannot be committed: %v", err)
	}
	batch := w.clone.repo().Batch(ctx)
	defer batch.Close()
	without = slices.DeleteFunc(slices.Clone(without), func(path string) bool {
		_, here := os.Lstat(filepath.Join(w.clone.dir, path))
		_, there := batch.Info(from + ":" + path)
		return errors.Is(here, fs.ErrNotExist) && errors.Is(there, git.ErrMissing)
	})
	if err := x.leaveOut(ctx, from, without); err != nil {
		return "", nil, err
	}
	if tree, err = x.git(ctx, "write-tree"); err != nil {
		return "", nil, err
	}
	if was, err := batch.Info(from + "^{tree}"); err == nil && was.ID == tree {
		return tree, nil, nil
	}
	out, err := x.git(ctx, "diff-index", "--cached", "--name-status", "--no-renames", "-z", from, "--")
	if err != nil {
		return "", nil, err
	}
	words := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for i := 0; i+1 < len(words); i += 2 {
		changes = append(changes, words[i]+" "+words[i+1])
	}
	return tree, changes, nil
}

// index is an extra index besides the worker's own.
type index struct {
	tree *worktree.Tree
	path string
}

func (x index) git(ctx context.Context, args ...string) (string, error) {
	out, err := x.tree.GitInput(ctx, []string{"GIT_INDEX_FILE=" + x.path}, nil, args...)
	return strings.TrimSpace(string(out)), err
}

// leaveOut resets paths to their content in a commit.
func (x index) leaveOut(ctx context.Context, from string, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	var specs []string
	for _, path := range paths {
		specs = append(specs, ":(top,literal)"+path)
	}
	// -f: git takes a repository within for work that would be lost, which stays in the tree.
	if _, err := x.git(ctx, append([]string{"rm", "-r", "-f", "--cached", "--quiet", "--ignore-unmatch", "--"}, specs...)...); err != nil {
		return err
	}
	out, err := x.git(ctx, append([]string{"ls-tree", "-r", "-z", "--full-tree", from, "--"}, specs...)...)
	if err != nil || out == "" {
		return nil // none of these names exist
	}
	_, err = x.tree.GitInput(ctx, []string{"GIT_INDEX_FILE=" + x.path}, []byte(strings.TrimRight(out, "\x00")+"\x00"), "update-index", "-z", "--index-info")
	return err
}

// Keep commits what Changed finds on a commit of the work, and returns the new commit; the
// old one, and no changes, where nothing differs. The branch is put back to head, whatever
// a worker did to it: what he committed there is in the tree.
func (w *Work) Keep(ctx context.Context, from, head string, without ...string) (kept string, changes []string, err error) {
	tree, changes, err := w.Changed(ctx, from, without...)
	if err != nil {
		return "", nil, err
	}
	git, err := os.OpenRoot(w.clone.gitDir())
	if err != nil {
		return "", nil, err
	}
	defer git.Close()
	for _, name := range []string{"rebase-merge", "rebase-apply", "sequencer", "MERGE_HEAD"} {
		if err := git.RemoveAll(name); err != nil {
			return "", nil, err
		}
	}
	if err := w.toBranch(ctx, head); err != nil {
		return "", nil, err
	}
	if len(changes) == 0 {
		return from, nil, nil
	}
	kept, err = w.keptCommit(ctx, tree, from)
	return kept, changes, err
}

// toBranch sets HEAD to the branch, and the branch to a commit, if they differ.
func (w *Work) toBranch(ctx context.Context, commit string) error {
	branch := "refs/heads/" + w.Branch
	if on, err := w.clone.repo().Head(ctx); err != nil || on != branch {
		if _, err := w.clone.git(ctx, "symbolic-ref", "HEAD", branch); err != nil {
			return err
		}
	}
	if at, err := w.clone.repo().Ref(ctx, branch); err == nil && at == commit {
		return nil
	}
	_, err := w.clone.git(ctx, "update-ref", branch, commit)
	return err
}

// Amid lets the plan at a path go on with a tree that was changed between two of its steps:
// the commit is what Keep made of it.
func (w *Work) Amid(ctx context.Context, path, kept string) error {
	message := w.Record.Message("plan: the tree was changed between its steps", "", record.TrailerStep+": "+path+"#0")
	_, err := w.Record.Commit(ctx, message, kept, nil)
	return err
}

// begunAt is where a plan began: a commit of the work, or its parent if the commit has changes
// from before the plan.
func (w *Work) begunAt(ctx context.Context, commit string) (string, error) {
	out, err := w.clone.git(ctx, "log", "-1", "--no-show-signature", "--no-notes", "--format=%P%n%B", commit, "--")
	if err != nil {
		return "", err
	}
	parents, message, _ := strings.Cut(out, "\n")
	if first, _, _ := strings.Cut(parents, " "); hasAny(message, trailerKept) && first != "" {
		return w.begunAt(ctx, first)
	}
	return commit, nil
}
