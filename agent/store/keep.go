package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"git-ward/protocols/record"
)

// trailerKept marks a commit of the work that holds what a worker changed before there was
// a plan: its first parent is where the work stood.
const trailerKept = "Ward-Kept"

// Keep makes a commit of what the working tree holds beyond a commit of the work, and
// returns it and the names of what differs, as `git diff --name-status` has them; from
// itself, and none, where nothing does. The paths without are taken as they are in from.
// The branch is put back to head, whatever a worker did to it: what he committed there is
// in the tree. The error is stop.Refused where the tree cannot be committed.
func (w *Work) Keep(ctx context.Context, from, head string, without ...string) (kept string, changes []string, err error) {
	if err := w.clone.ensure(ctx); err != nil {
		return "", nil, err
	}
	if err := w.clone.exclude(); err != nil {
		return "", nil, err
	}
	for _, name := range []string{"index", "rebase-merge", "rebase-apply", "sequencer", "MERGE_HEAD"} {
		if err := os.RemoveAll(filepath.Join(w.clone.gitDir(), name)); err != nil {
			return "", nil, err
		}
	}
	for _, args := range [][]string{
		{"symbolic-ref", "HEAD", "refs/heads/" + w.Branch}, {"update-ref", "refs/heads/" + w.Branch, head}, {"read-tree", from},
	} {
		if _, err := w.clone.git(ctx, args...); err != nil {
			return "", nil, err
		}
	}
	if _, err := w.clone.git(ctx, "add", "--all"); err != nil {
		if ctx.Err() != nil {
			return "", nil, err
		}
		return "", nil, refuse("the working tree cannot be committed: %v", err)
	}
	if err := w.leaveOut(ctx, from, without); err != nil {
		return "", nil, err
	}
	return w.commitKept(ctx, from)
}

// leaveOut puts paths of the index back to what a commit has there.
func (w *Work) leaveOut(ctx context.Context, from string, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	args := []string{"reset", "--quiet", from, "--"}
	for _, path := range paths {
		args = append(args, ":(top,literal)"+path)
	}
	_, err := w.clone.git(ctx, args...)
	return err
}

// commitKept commits the index on a commit, where they differ.
func (w *Work) commitKept(ctx context.Context, from string) (kept string, changes []string, err error) {
	out, err := w.clone.git(ctx, "diff-index", "--cached", "--name-status", "--no-renames", "-z", from, "--")
	if err != nil || out == "" {
		return from, nil, err
	}
	words := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for i := 0; i+1 < len(words); i += 2 {
		changes = append(changes, words[i]+" "+words[i+1])
	}
	tree, err := w.clone.git(ctx, "write-tree")
	if err != nil {
		return "", nil, err
	}
	message := fmt.Sprintf("plan: what was changed before there was one\n\n%s: %s\n%s: before the plan",
		record.TrailerDirective, w.Directive.Name(), trailerKept)
	kept, err = w.clone.git(ctx, "commit-tree", tree, "-p", from, "-m", message)
	return kept, changes, err
}

// Amid lets the plan at a path go on with a tree that was changed between two of its steps:
// the commit is what Keep made of it.
func (w *Work) Amid(ctx context.Context, path, kept string) error {
	message := w.Record.Message("plan: the tree was changed between its steps", "", record.TrailerStep+": "+path+"#0")
	_, err := w.Record.Commit(ctx, message, kept, nil)
	return err
}

// begunAt is where a plan began: a commit of the work, or what it was before things were
// changed for which there was no plan yet.
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
