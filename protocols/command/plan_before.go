package command

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"git-ward/internal/branches"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/plan"
	"git-ward/protocols/record"
)

// lintPlan lints a plan of the working tree. A committed, unchanged plan is judged on the tree
// in which it was committed, before it ran (PLAN-4), so that its own later effects cause no
// finding.
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
	came, err := t.arrival(ctx, batch, path)
	if err != nil || came == "" {
		return found, err
	}
	l = t.linterIn(ctx, commitTree(came, batch))
	return l.LintArrival(history{ctx, t.repo, batch}, came, path, false)
}

// lintPaper lints a plan of an agent's clone on the tree of its first commit among the local
// steps or in the unit's record (REC-4). It returns found, the findings on the present tree, for
// a plan without such a commit.
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
	tree := func(commit string) plan.Tree { return commitTree(commit, batch) }
	found, err = plan.NewRecordLinter(tree(came), tree(came+"^2"), tree(names.ControlRef())).Lint(paper)
	for i := range found {
		found[i].Path = record.Dir + "/" + found[i].Path
	}
	return found, err
}

// arrival is the commit that brought a plan in its present form; "" if the working tree has
// another plan than HEAD.
func (t *Tree) arrival(ctx context.Context, batch *git.Batch, path string) (string, error) {
	data, err := t.ReadFile(path, plan.MaxBytes)
	if err != nil {
		return "", nil // a finding of its own
	}
	o, err := batch.Info("HEAD:" + path)
	if errors.Is(err, git.ErrMissing) || err == nil && o.ID != git.BlobID(data) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	out, err := t.repo.Output(ctx, "rev-list", "--max-count=1", "HEAD", "--", ":(top,literal)"+path)
	return strings.TrimSpace(string(out)), err
}

// maxCommit bounds a commit that is read for its parents, in bytes.
const maxCommit = 1 << 20

// history reads the commits before a plan from the repository.
type history struct {
	ctx   context.Context
	repo  *git.Repo
	batch *git.Batch
}

// Parents implements plan.History.
func (h history) Parents(commit string) ([]string, error) {
	_, data, err := h.batch.Read(commit, maxCommit)
	if err != nil {
		return nil, err
	}
	c, err := git.ParseCommit(data)
	if err := git.Forgive(err); err != nil {
		return nil, err
	}
	for _, parent := range c.Parents {
		if _, err := h.batch.Info(parent); errors.Is(err, git.ErrMissing) {
			return nil, plan.ErrCut
		} else if err != nil {
			return nil, err
		}
	}
	return c.Parents, nil
}

// Has implements plan.History.
func (h history) Has(commit, path string) (bool, error) {
	_, err := h.batch.Info(commit + ":" + path)
	if errors.Is(err, git.ErrMissing) {
		return false, nil
	}
	return err == nil, err
}

// Tree implements plan.History.
func (h history) Tree(commit string) (plan.Tree, error) {
	return commitTree(cmp.Or(commit, git.EmptyTree), h.batch), nil
}

// Oldest implements plan.History.
func (h history) Oldest(text, commit, without string) (string, error) {
	args := []string{"rev-list", "--topo-order", "--fixed-strings", "--grep=" + text, commit}
	if without != "" {
		args = append(args, "^"+without)
	}
	out, err := h.repo.Output(h.ctx, append(args, "--")...)
	ids := strings.Fields(string(out))
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return ids[len(ids)-1], nil
}

// commitTree is the tree of a commit, as plans are judged in it.
func commitTree(commit string, batch *git.Batch) plan.Tree {
	return plan.InCommit[git.Entry]{Files: &git.Files{Commit: commit, Batch: batch}}
}
