package checks

import (
	"errors"
	"fmt"
	"strings"

	"git-ward/internal/git"
)

// maxCommitSize bounds a commit object, whose message has a limit of its own;
// maxCommitBytes bounds all commits of a push together, and maxKept those that are
// kept for the next who asks.
const (
	maxCommitSize  = 4 << 20
	maxCommitBytes = 64 << 20
	maxKept        = 20_000
)

// commit reads and parses a commit, once. It asks no more of its form than one
// meaning; a fresh commit's form is judged with it.
func (r *Run) commit(id string) (*git.Commit, error) {
	if c, ok := r.commits[id]; ok {
		return c, nil
	}
	object, data, err := r.batch.ReadNow(id, maxCommitSize)
	var large *git.TooLarge
	if errors.As(err, &large) {
		return nil, &limitError{"", large.Error()}
	}
	if err != nil {
		return nil, err
	}
	if object.Kind != "commit" {
		return nil, wrongKind(id, object.Kind, "commit")
	}
	if err := r.spend(object.Size); err != nil {
		return nil, err
	}
	if r.commitBytes += object.Size; r.commitBytes > maxCommitBytes {
		return nil, &limitError{"", fmt.Sprintf("the commits have more than %d bytes together", maxCommitBytes)}
	}
	c, err := git.ParseCommit(data)
	var form *git.FormError
	if errors.As(err, &form) && form.OneMeaning {
		r.forms[id], err = form, nil
	}
	if err != nil {
		return nil, &objectError{id: id, err: err}
	}
	if len(r.commits) < maxKept {
		r.commits[id] = c
	}
	return c, nil
}

// readAheadOf is how many commits are warmed at once; a push of a few is judged
// without.
const readAheadOf = 64

// readAhead reads what the commits will need, in few exchanges with git.
func (r *Run) readAhead(commits []*Commit) error {
	var pairs []pair
	for _, c := range commits {
		parents, err := r.parentTrees(c)
		if err != nil {
			return err
		}
		pairs = append(pairs, pair{strings.Join(parents[:min(1, len(parents))], ""), c.Tree})
	}
	return r.trees.warm(pairs)
}
