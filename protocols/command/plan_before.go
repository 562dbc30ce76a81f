package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/plan"
	"git-ward/protocols/record"
)

// lintPlan lints a plan of the working tree. One that is committed and unchanged is judged
// as it was when it came, before it ran (PLAN-4): what the tree has become since makes no
// finding of it.
func (t *Tree) lintPlan(ctx context.Context, l *plan.Linter, path string) ([]diag.Diagnostic, error) {
	found, err := l.Lint(path)
	if err != nil || t.repo == nil || !plan.AboutFiles(found) {
		return found, err
	}
	batch := t.repo.Batch(ctx)
	defer batch.Close()
	came, ran, err := t.arrival(ctx, batch, path)
	if err != nil || len(came) == 0 {
		return found, err
	}
	before := plan.NewLinter(&commitFiles{git.Files{Commit: came[0], Batch: batch}}, t.Machine(ctx))
	var earlier []plan.Tree
	for _, commit := range append(came, ran...) {
		earlier = append(earlier, &commitFiles{git.Files{Commit: commit + "^", Batch: batch}})
	}
	before.Earlier(len(ran) > 0, earlier...)
	return before.Lint(path)
}

// arrival are the commits that a plan's versions came with, the newest first, and that of its
// first step; nothing where the working tree has another plan than HEAD.
func (t *Tree) arrival(ctx context.Context, batch *git.Batch, path string) (came, ran []string, err error) {
	data, err := t.ReadFile(path, plan.MaxBytes)
	if err != nil {
		return nil, nil, nil // a finding of its own
	}
	o, err := batch.Info("HEAD:" + path)
	if errors.Is(err, git.ErrMissing) || err == nil && o.ID != git.BlobID(data) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	const versions = 100
	out, err := t.repo.Output(ctx, "rev-list", fmt.Sprintf("--max-count=%d", versions), "HEAD", "--", ":(top,literal)"+path)
	if came = strings.Fields(string(out)); err != nil || len(came) == 0 {
		return nil, nil, err
	}
	out, err = t.repo.Output(ctx, "rev-list", "--topo-order", "--fixed-strings", "--grep="+record.TrailerStep+": "+path+"#", came[0], "--")
	if steps := strings.Fields(string(out)); len(steps) > 0 {
		ran = steps[len(steps)-1:]
	}
	return came, ran, err
}

// commitFiles is the tree of a commit, as plans are judged in it.
type commitFiles struct{ git.Files }

// Kind says what a path of the tree names.
func (f *commitFiles) Kind(path string) (plan.Kind, error) {
	if path == "." {
		return plan.Folder, nil
	}
	switch e, ok, err := f.Entry(path); {
	case err != nil || !ok:
		return plan.Missing, err
	case e.IsDir():
		return plan.Folder, nil
	case e.IsRegular():
		return plan.File, nil
	}
	return plan.Other, nil
}

// ReadFile reads a regular file of the tree.
func (f *commitFiles) ReadFile(path string, limit int64) ([]byte, error) {
	if kind, err := f.Kind(path); err != nil || kind != plan.File {
		return nil, errors.Join(err, fs.ErrNotExist)
	}
	_, data, err := f.Batch.Read(f.Commit+":"+path, limit)
	var large *git.TooLarge
	if errors.As(err, &large) {
		return nil, plan.ErrTooLarge
	}
	return data, err
}
