package walk

import (
	"errors"
	"fmt"

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

// commits are those that were read.
type commits struct {
	kept  map[string]*git.Commit
	forms map[string]*git.FormError // of those that are not what git writes, but have one meaning
	bytes int64
}

// Commit reads and parses a commit, once. It asks no more of its form than one
// meaning; a new commit's form is judged with it.
func (w *Walker) Commit(id string) (*git.Commit, error) {
	if c, ok := w.commits.kept[id]; ok {
		return c, nil
	}
	object, data, err := w.batch.ReadNow(id, maxCommitSize)
	if err != nil {
		return nil, tooLarge(err)
	}
	if object.Kind != "commit" {
		return nil, wrongKind(id, object.Kind, "commit")
	}
	if err := w.count(object.Size); err != nil {
		return nil, err
	}
	if w.commits.bytes += object.Size; w.commits.bytes > maxCommitBytes {
		return nil, &Exceeded{"", fmt.Sprintf("the commits have more than %d bytes together", maxCommitBytes)}
	}
	c, err := git.ParseCommit(data)
	if form, ok := errors.AsType[*git.FormError](err); ok && form.OneMeaning {
		w.commits.forms[id], err = form, nil
	}
	if err != nil {
		return nil, &BadObject{ID: id, Err: err}
	}
	if len(w.commits.kept) < maxKept {
		w.commits.kept[id] = c
	}
	return c, nil
}

// fresh is a commit of the push that was just read.
func (w *Walker) fresh(id string, c *git.Commit, t *Tip) *Commit {
	return &Commit{ID: id, Commit: c, Ref: t.Ref, History: t.History, Form: w.commits.forms[id]}
}

// maxParents bounds an octopus: all parents' trees are read in step.
const maxParents = 16

// ParentTrees are the trees of a commit's parents, in their order.
func (w *Walker) ParentTrees(c *Commit) ([]string, error) {
	if len(c.Parents) > maxParents {
		return nil, &Exceeded{"", fmt.Sprintf("the commit has %d parents, more than %d", len(c.Parents), maxParents)}
	}
	var trees []string
	for _, id := range c.Parents {
		parent, err := w.Commit(id)
		if err != nil {
			return nil, err
		}
		trees = append(trees, parent.Tree)
	}
	return trees, nil
}
