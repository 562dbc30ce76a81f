package checks

import (
	"fmt"
	"slices"

	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/plan"
	"git-ward/protocols/record"
)

// lintBefore judges a plan which the tree that it came with is wrong for, in the trees before
// as well: its steps' work may have come along (a squash), or be in the history (a plan that is
// amended after some of them). Few plans need that, so that it may cost more.
func lintBefore(pass *Pass, t *walk.Tip, c walk.Change, came arrival) ([]diag.Diagnostic, error) {
	commit, err := pass.Repo.Commit(came.commit)
	if err != nil {
		return nil, err
	}
	ran, err := isElsewhere(pass, t, c)
	if err != nil {
		return nil, err
	}
	without, err := lastWithout(pass, came.commit, c.Path)
	if err != nil {
		return nil, err
	}
	first, err := firstStep(pass, came.commit, without, c.Path)
	if err != nil {
		return nil, err
	}
	trees, err := treesOf(pass, append(slices.Clone(commit.Parents), without, first))
	if err != nil {
		return nil, err
	}
	var earlier []plan.Tree
	for _, tree := range trees {
		earlier = append(earlier, &treeFiles{pass: pass, tree: tree})
	}
	l := newLinter(pass, t, came.tree)
	l.Earlier(ran || first != "", earlier...)
	return l.Lint(c.Path)
}

// maxElsewhere bounds the branches that are looked at for a plan.
const maxElsewhere = 1000

// isElsewhere reports whether another branch has the plan, which was judged there.
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

// maxPast is how far back, along first parents, a plan's first version is looked for.
const maxPast = 2000

// lastWithout is the newest commit before one, along first parents, that does not have a
// path; "" where all have it, or the last that was looked at where they are too many.
func lastWithout(pass *Pass, id, path string) (string, error) {
	for range maxPast {
		parent, err := pass.Repo.Parent(id)
		if err != nil || parent == "" {
			return "", err
		}
		tree, err := treeOf(pass, parent)
		if err != nil {
			return "", err
		}
		_, ok, err := pass.Repo.Lookup(tree, path)
		if err != nil && !walk.IsBad(err) {
			return "", err
		}
		if id = parent; !ok {
			break
		}
	}
	return id, nil
}

// firstStep is the parent of the oldest commit of a step of a plan, "" where there is none
// between two commits.
func firstStep(pass *Pass, commit, without, path string) (string, error) {
	args := []string{"--topo-order", "--fixed-strings", fmt.Sprintf("--grep=%s: %s#", record.TrailerStep, path), commit}
	if without != "" {
		args = append(args, "^"+without)
	}
	ids, err := pass.Repo.RevList(args...)
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return pass.Repo.Parent(ids[len(ids)-1])
}
