package planrun

import (
	"errors"

	"git-ward/internal/git"
	"git-ward/protocols/plan"
)

// maxTree bounds a tree object that is read.
const maxTree = 16 << 20

// commitTree is the tree of a commit, as plans are read from it.
type commitTree struct{ git.Files }

func newCommitTree(commit string, batch *git.Batch) *commitTree {
	return &commitTree{git.Files{Commit: commit, Batch: batch}}
}

// Kind says what a path of the tree names.
func (t *commitTree) Kind(name string) (plan.Kind, error) {
	if name == "." {
		return plan.Folder, nil
	}
	e, ok, err := t.Entry(name)
	return plan.KindOf(e, ok), err
}

// ReadFile reads a regular file of the tree.
func (t *commitTree) ReadFile(name string, limit int64) ([]byte, error) {
	data, err := t.Files.ReadFile(name, limit)
	var large *git.TooLarge
	if errors.As(err, &large) {
		return nil, plan.ErrTooLarge
	}
	return data, err
}
