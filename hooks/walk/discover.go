package walk

import (
	"errors"
	"fmt"
	"slices"

	"git-ward/hooks/push"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// ErrNoCommit is for a ref that leads to something else than a commit: its content
// would enter unread.
var ErrNoCommit = errors.New("does not lead to a commit")

// maxTags bounds how many tags lead to one another, and maxTagSize each of them.
const (
	maxTags    = 5
	maxTagSize = 1 << 20
)

// Peel follows an update's new value to a commit; judge hears of the tags on the way. A
// value that leads elsewhere is ErrNoCommit.
func (w *Walker) Peel(u push.Update, judge func(*Tag)) (*Tip, error) {
	id, want := u.New, ""
	for range maxTags {
		object, err := w.batch.Info(id)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", diag.Clean(u.Ref), err)
		}
		if want != "" && object.Kind != want {
			return nil, wrongKind(id, object.Kind, want)
		}
		if object.Kind == "commit" {
			u.New = id
			c, err := w.Commit(id)
			if err != nil {
				return nil, err
			}
			return &Tip{Update: u, Commit: c}, nil
		}
		if object.Kind != "tag" {
			return nil, ErrNoCommit
		}
		tag, err := w.tag(u.Ref, id)
		if err != nil {
			return nil, err
		}
		judge(tag)
		id, want = tag.Object, tag.Kind
	}
	return nil, ErrNoCommit
}

// tag reads one tag object.
func (w *Walker) tag(ref, id string) (*Tag, error) {
	object, data, err := w.batch.Read(id, maxTagSize)
	if err != nil {
		return nil, tooLarge(err)
	}
	if err := w.count(object.Size); err != nil {
		return nil, err
	}
	w.met[id] = true
	parsed, err := git.ParseTag(data)
	t := &Tag{ID: id, Tag: parsed, Ref: ref}
	if err != nil && (!errors.As(err, &t.Form) || !t.Form.OneMeaning) {
		return nil, &BadObject{ID: id, Err: err}
	}
	return t, nil
}

// ChainError says that a history is not one commit on top of the other.
type ChainError struct {
	Commit string // that has not one parent, or is the tip of what is too long
	Long   bool   // more than the most commits, or none that follows the old value
}

func (e *ChainError) Error() string { return e.Commit + " does not follow the ref's old value" }

// Chain finds the commits from a tip down to its ref's old value, oldest first, at
// most so many. Each has the one before it as its only parent; any other history is a
// *ChainError.
func (w *Walker) Chain(t *Tip, most int) ([]*Commit, error) {
	var steps []*Commit
	id, c := t.New, t.Commit
	for range most {
		steps = append(steps, w.fresh(id, c, t.Ref))
		if len(c.Parents) == 0 && t.Old == git.Zero || len(c.Parents) == 1 && c.Parents[0] == t.Old {
			return reversed(steps), nil
		}
		if len(c.Parents) != 1 {
			return nil, &ChainError{Commit: id}
		}
		var err error
		id = c.Parents[0]
		if c, err = w.Commit(id); err != nil {
			return nil, err
		}
	}
	return nil, &ChainError{Commit: t.New, Long: true}
}

// shortWalk is how many commits are looked at one by one before rev-list is
// asked; most pushes are a few commits on top of a known tip, and a child costs
// as much as reading dozens.
const shortWalk = 32

// Fresh are the commits that the tips reach and that neither main nor a branch below
// the globs does, oldest first (GATE-2). What it learns of a tip's base on the way is
// left in the tip; Base settles the rest.
func (w *Walker) Fresh(tips []*Tip, globs []string) (fresh []*Commit, err error) {
	seen := map[string]bool{}
	for _, t := range tips {
		more, ok, err := w.linear(t, seen)
		if err != nil {
			return nil, err
		}
		if !ok {
			return w.listed(tips, globs)
		}
		fresh = append(fresh, more...)
	}
	return fresh, nil
}

// linear follows single parents from a tip down to its branch's old value or to
// main, and says whether it arrived. Only commits that came with this push count
// as new without asking git; all others may be known by some branch. What it
// passes also answers the question of the merge base, without a child.
func (w *Walker) linear(t *Tip, seen map[string]bool) (fresh []*Commit, ok bool, err error) {
	id, c := t.New, t.Commit
	for range shortWalk {
		atOld := id == t.Old && push.IsBranch(t.Ref)
		if atOld || id == w.main {
			t.Base, t.Forward = id, id == t.Old || t.Old == git.Zero
			return reversed(fresh), true, nil
		}
		if len(c.Parents) != 1 || !w.batch.Arrived(id) {
			return nil, false, nil
		}
		if !seen[id] {
			seen[id] = true
			fresh = append(fresh, w.fresh(id, c, t.Ref))
		}
		id = c.Parents[0]
		if c, err = w.Commit(id); err != nil {
			return nil, false, err
		}
	}
	return nil, false, nil
}

func reversed(commits []*Commit) []*Commit {
	slices.Reverse(commits)
	return commits
}

// listed asks git for the new commits.
func (w *Walker) listed(tips []*Tip, globs []string) ([]*Commit, error) {
	args := []string{"--topo-order", fmt.Sprintf("--max-count=%d", w.limits.Commits+1)}
	refs := map[string]string{}
	for _, t := range tips {
		t.Base, t.Forward, t.Merges = "", false, true
		refs[t.New] = t.Ref
		args = append(args, t.New)
	}
	args = append(args, "--not")
	if w.main != "" {
		args = append(args, w.main)
	}
	for _, glob := range globs {
		args = append(args, "--glob="+w.branches+glob)
	}
	ids, err := w.RevList(args...)
	if err != nil {
		return nil, err
	}
	if len(ids) > w.limits.Commits {
		return nil, &Exceeded{"", fmt.Sprintf("more than %d new commits in one push", w.limits.Commits)}
	}
	commits := make([]*Commit, 0, len(ids))
	const chunk = 512
	for i, id := range ids {
		if i%chunk == 0 {
			if err := w.batch.Prefetch(ids[i:min(i+chunk, len(ids))], maxCommitSize); err != nil {
				return nil, err
			}
		}
		c, err := w.Commit(id)
		if err != nil {
			return nil, err
		}
		commits = append(commits, w.fresh(id, c, refs[id]))
	}
	return reversed(commits), nil
}
