package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"git-ward/internal/branches"
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
	if paper, ok := strings.CutPrefix(path, record.Dir+"/"); ok {
		return t.lintPaper(ctx, batch, path, paper, found)
	}
	came, ran, err := t.arrival(ctx, batch, path)
	if err != nil || len(came) == 0 {
		return found, err
	}
	before := t.linterIn(ctx, &commitFiles{git.Files{Commit: came[0], Batch: batch}})
	var earlier []plan.Tree
	for _, commit := range append(came, ran...) {
		earlier = append(earlier, &commitFiles{git.Files{Commit: commit + "^", Batch: batch}})
	}
	before.Earlier(len(ran) > 0, earlier...)
	return before.Lint(path)
}

// lintPaper lints a plan of an agent's clone as it was when it came to the steps that it has
// there, or to the unit's record (REC-4); found is what stands where it did not.
func (t *Tree) lintPaper(ctx context.Context, batch *git.Batch, path, paper string, found []diag.Diagnostic) ([]diag.Diagnostic, error) {
	out, err := t.repo.Output(ctx, "rev-list", "--max-count=1", "--fixed-strings", "--grep="+record.TrailerPlan+": "+paper,
		"--glob=refs/ward-step[s]", "--glob=refs/ward/record", "--")
	came := strings.TrimSpace(string(out))
	if err != nil || came == "" {
		return found, err
	}
	data, err := t.ReadFile(path, plan.MaxBytes)
	if err != nil {
		return found, nil // a finding of its own
	}
	if o, err := batch.Info(came + ":" + paper); errors.Is(err, git.ErrMissing) || err == nil && o.ID != git.BlobID(data) {
		return found, nil
	} else if err != nil {
		return nil, err
	}
	names, err := branches.Of(ctx, t.repo)
	if err != nil {
		return nil, err
	}
	tree := func(commit string) *commitFiles { return &commitFiles{git.Files{Commit: commit, Batch: batch}} }
	found, err = plan.NewRecordLinter(tree(came), tree(came+"^2"), tree(names.ControlRef())).Lint(paper)
	for i := range found {
		found[i].Path = record.Dir + "/" + found[i].Path
	}
	return found, err
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
	e, ok, err := f.Entry(path)
	return plan.KindOf(e, ok), err
}

// ReadFile reads a regular file of the tree.
func (f *commitFiles) ReadFile(path string, limit int64) ([]byte, error) {
	data, err := f.Files.ReadFile(path, limit)
	var large *git.TooLarge
	if errors.As(err, &large) {
		return nil, plan.ErrTooLarge
	}
	return data, err
}
