package checks

import (
	"errors"

	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/plan"
)

// lintBefore judges a plan that fails in the tree in which it came also in the trees before.
// Few plans need that, so it may be slow.
func lintBefore(pass *Pass, t *walk.Tip, c walk.Change, came arrival) ([]diag.Diagnostic, error) {
	ran, err := isElsewhere(pass, t, c)
	if err != nil {
		return nil, err
	}
	return newLinter(pass, t, came.tree).LintArrival(history{pass}, came.commit, c.Path, ran)
}

// history is what the repository, with the push, says about the commits before a plan.
type history struct{ pass *Pass }

// Parents implements plan.History. Only a clone may be shallow: in the repository that a push
// comes to, a commit that is not there is trouble.
func (h history) Parents(commit string) ([]string, error) {
	c, err := h.pass.Repo.Commit(commit)
	if err != nil {
		return nil, err
	}
	for _, parent := range c.Parents {
		if _, err := h.pass.Repo.Commit(parent); errors.Is(err, git.ErrMissing) && !h.pass.Push.Received {
			return nil, plan.ErrCut
		} else if err != nil {
			return nil, err
		}
	}
	return c.Parents, nil
}

// Has implements plan.History. A malformed old tree counts as empty.
func (h history) Has(commit, path string) (bool, error) {
	tree, err := treeOf(h.pass, commit)
	if err != nil {
		return false, err
	}
	_, ok, err := h.pass.Repo.Lookup(tree, path)
	if err != nil && !walk.IsBad(err) {
		return false, err
	}
	return ok, nil
}

// Tree implements plan.History.
func (h history) Tree(commit string) (plan.Tree, error) {
	tree, err := treeOf(h.pass, commit)
	return &treeFiles{pass: h.pass, tree: tree}, err
}

// Oldest implements plan.History.
func (h history) Oldest(text, commit, without string) (string, error) {
	args := []string{"--topo-order", "--fixed-strings", "--grep=" + text, commit}
	if without != "" {
		args = append(args, "^"+without)
	}
	ids, err := h.pass.Repo.RevList(args...)
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return ids[len(ids)-1], nil
}

// maxElsewhere bounds the branches that are looked at for a plan.
const maxElsewhere = 1000

// isElsewhere reports whether another branch has the plan, where it was judged.
func isElsewhere(pass *Pass, t *walk.Tip, c walk.Change) (bool, error) {
	names, err := pass.Repo.RefNames("refs/heads/")
	if err != nil {
		return false, err
	}
	for _, name := range names[:min(len(names), maxElsewhere)] {
		tip, err := pass.after(name)
		if err != nil {
			return false, err
		}
		if name == t.Ref || tip == git.Zero {
			continue
		}
		tree, err := treeOf(pass, tip)
		if err != nil {
			return false, err
		}
		e, ok, err := pass.Repo.Lookup(tree, c.Path)
		if err != nil && !walk.IsBad(err) {
			return false, err
		}
		if ok && e.ID == c.New.ID {
			return true, nil
		}
	}
	return false, nil
}
