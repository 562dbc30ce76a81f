package plan

import (
	"slices"

	"git-ward/internal/diag"
)

// Earlier gives trees from before the one that a plan came with, for a plan whose steps'
// work may have come along (a squash, an amended plan): PLAN-4 judges a plan before it
// runs. A file that a step uses may be there in one of them. A file that a step makes may
// be missing there, where what is there now is what the step makes of it; or whatever it
// is, where the plan is known to have run.
func (l *Linter) Earlier(ran bool, trees ...Tree) { l.earlier, l.ran = trees, ran }

// AboutFiles reports whether a finding is about the files that steps use, make and cite, which
// another tree may have or not.
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
