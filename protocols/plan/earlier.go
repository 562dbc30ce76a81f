package plan

import (
	"errors"
	"slices"

	"git-ward/internal/diag"
	"git-ward/protocols/record"
)

// History answers questions about the commits before a plan arrived.
type History interface {
	// Parents are a commit's, the first one first. ErrCut says that the repository has them not.
	Parents(commit string) ([]string, error)
	// Has reports whether a commit's tree has a path.
	Has(commit, path string) (bool, error)
	// Tree is a commit's tree; for "", no commit, the empty one.
	Tree(commit string) (Tree, error)
	// Oldest is the oldest commit that leads to one and has a text in its message, but for
	// what leads to another, where that is not ""; "" for none.
	Oldest(text, commit, without string) (string, error)
}

// ErrCut means that a shallow clone's history ends here.
var ErrCut = errors.New("the history ends here in a shallow clone")

// The limits of a search in the history of a plan.
const (
	maxPast    = 2000 // commits along first parents
	maxParents = 16   // of a commit, whose trees are read in step
)

// LintArrival judges a plan that the tree which it came with is wrong for in the trees before
// as well: its steps' work may have come along (a squash), or be in the history (a plan that is
// amended after some of them). PLAN-4 judges a plan before it runs. The linter is that of the
// tree of the commit that it came with; ran says that the plan was judged before.
//
// A file that a step uses may be there in one of the trees. A file that a step makes may
// be missing there, where what is there now is what the step makes of it; or whatever it
// is, where the plan is known to have run. Where no step is known there is one tree with
// nothing in it: a plan that was moved after it ran has a new path, and its steps the old one.
//
// Where a shallow clone does not have the trees before, what is missing in those that it has
// may be in them: such a finding is a warning.
func (l *Linter) LintArrival(h History, came, path string, ran bool) ([]diag.Diagnostic, error) {
	err := l.lookBack(h, came, path, ran)
	cut := errors.Is(err, ErrCut)
	if err != nil && !cut {
		return nil, err
	}
	found, err := l.Lint(path)
	for i := range found {
		if cut && AboutFiles(found[i:i+1]) {
			found[i].Severity, found[i].Hint = diag.Warning, "this clone is shallow, so this may be no fault: git fetch --unshallow, and lint again"
		}
	}
	return found, err
}

// lookBack takes the trees before a plan came, and whether it ran, as far as the history goes.
func (l *Linter) lookBack(h History, came, path string, ran bool) error {
	l.ran, l.earlier = ran, nil
	commits, err := h.Parents(came)
	if err != nil {
		return err
	}
	if err := l.before(h, commits[:min(maxParents, len(commits))]...); err != nil {
		return err
	}
	without, err := lastWithout(h, came, path)
	if err != nil {
		return err
	}
	first, err := firstStep(h, came, without, path)
	if err != nil {
		return err
	}
	l.ran = ran || first != ""
	return l.before(h, without, first)
}

// before adds the trees of commits to those before a plan came.
func (l *Linter) before(h History, commits ...string) error {
	for _, commit := range commits {
		tree, err := h.Tree(commit)
		if err != nil {
			return err
		}
		l.earlier = append(l.earlier, tree)
	}
	return nil
}

// firstParent is a commit's first parent, "" for a root.
func firstParent(h History, commit string) (string, error) {
	parents, err := h.Parents(commit)
	if err != nil || len(parents) == 0 {
		return "", err
	}
	return parents[0], nil
}

// lastWithout is the newest commit before one, along first parents, that does not have a
// path; "" where all have it, or the last that was looked at where they are too many.
func lastWithout(h History, commit, path string) (string, error) {
	for range maxPast {
		parent, err := firstParent(h, commit)
		if err != nil || parent == "" {
			return "", err
		}
		has, err := h.Has(parent, path)
		if err != nil {
			return "", err
		}
		if commit = parent; !has {
			break
		}
	}
	return commit, nil
}

// firstStep is the parent of the oldest commit of a step of a plan, "" where there is none
// between two commits.
func firstStep(h History, commit, without, path string) (string, error) {
	oldest, err := h.Oldest(record.TrailerStep+": "+path+"#", commit, without)
	if err != nil || oldest == "" {
		return "", err
	}
	return firstParent(h, oldest)
}

// AboutFiles reports whether a finding is about files that steps use, make or cite, so that it
// may not hold in another tree.
func AboutFiles(found []diag.Diagnostic) bool {
	return slices.ContainsFunc(found, func(d diag.Diagnostic) bool {
		return d.Rule == RuleMissing || d.Rule == RuleExists || d.Rule == RuleCitation
	})
}

// met reports whether an earlier tree meets a need that the plan's own does not.
func (l *Linter) met(n need) (bool, error) {
	for _, tree := range l.earlier {
		kind, err := tree.Kind(n.path)
		if err != nil {
			return false, err
		}
		if n.there && kind == File || !n.there && kind == Missing && (l.ran || l.made(tree, n)) {
			return true, nil
		}
	}
	return false, nil
}

// made reports whether a file is what a step that makes it makes.
func (l *Linter) made(before Tree, n need) bool {
	from, to, limit := n.step.Block, n.path, int64(MaxBytes)
	if n.step.Tool == RenameFile {
		path, _ := n.step.RenameArgs()
		old, err := before.ReadFile(path, limit)
		if err != nil {
			return false
		}
		from = string(old)
	}
	now, err := l.tree.ReadFile(to, limit)
	return err == nil && string(now) == from
}

// hadDirectory reports whether an earlier tree has a directory.
func (l *Linter) hadDirectory(path string) bool {
	return slices.ContainsFunc(l.earlier, func(t Tree) bool {
		kind, err := t.Kind(path)
		return err == nil && kind == Folder
	})
}
