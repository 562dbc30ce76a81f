package walk

import (
	"errors"
	"fmt"
	"slices"

	"git-ward/hooks/push"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// ErrNoCommit means that a ref points to something other than a commit, whose content would
// enter unread.
var ErrNoCommit = errors.New("does not lead to a commit")

// maxTags bounds how many tags lead to one another, and maxTagSize each of them.
const (
	maxTags    = 5
	maxTagSize = 1 << 20
)

// Peel follows an update's new value to a commit, and calls judge for the tags on the way. A
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
			return &Tip{Update: u, Commit: c, History: push.HistoryOf(w.names, u.Ref)}, nil
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

// shortWalk is how many commits are read one by one before rev-list is used: most pushes are a
// few commits on top of a known tip, and a child costs as much as reading dozens.
const shortWalk = 32

// Known says which refs count as judged before, for tips of one history: its main, branches
// by globs below the prefix of branches, but those that Except names, and Commits.
type Known struct {
	Except, Globs []string
	Commits       []string
}

// Fresh are the commits that tips of one history reach and that neither its main nor what is
// known does, oldest first (GATE-2); each is found once in a history. What it learns of a
// tip's base on the way is left in the tip; Base settles the rest.
func (w *Walker) Fresh(tips []*Tip, known Known) (found []*Commit, err error) {
	for _, t := range tips {
		more, ok, err := w.linear(t)
		if err != nil {
			return nil, err
		}
		if !ok {
			for _, c := range found {
				delete(w.seen, fresh{c.History, c.ID})
			}
			return w.listed(tips, known)
		}
		for _, c := range more {
			w.seen[fresh{c.History, c.ID}] = true
		}
		found = append(found, more...)
	}
	return found, nil
}

// Found reports whether a commit is among the new ones of a history.
func (w *Walker) Found(h push.History, id string) bool { return w.seen[fresh{h, id}] }

// linear follows single parents from a tip down to its branch's old value or its main, and
// reports whether it arrived. Without asking git, only commits that came with this push count
// as new; some branch may know any other. The walk also finds the merge base without a child.
func (w *Walker) linear(t *Tip) (found []*Commit, ok bool, err error) {
	id, c := t.New, t.Commit
	for range shortWalk {
		if atOld := id == t.Old && push.IsBranch(t.Ref); atOld || id == w.Main(t.History) {
			t.Base, t.Forward = id, id == t.Old || t.Old == git.Zero
			return reversed(found), true, nil
		}
		if len(c.Parents) != 1 || !w.batch.Arrived(id) {
			return nil, false, nil
		}
		if !w.Found(t.History, id) {
			found = append(found, w.fresh(id, c, t))
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

// manyCommits is how many commits are read in one exchange.
const manyCommits = 512

// listed asks git for the new commits.
func (w *Walker) listed(tips []*Tip, known Known) ([]*Commit, error) {
	args := []string{"--topo-order", fmt.Sprintf("--max-count=%d", w.limits.Commits+1)}
	by := map[string]*Tip{} // a tip that reaches a commit
	for _, t := range tips {
		t.Base, t.Forward, t.Merges = "", false, true
		by[t.New] = t
		args = append(args, t.New)
	}
	args = append(args, "--not")
	if main := w.Main(tips[0].History); main != "" {
		args = append(args, main)
	}
	args = append(args, known.Commits...)
	for _, glob := range known.Globs {
		for _, except := range known.Except { // which holds for the next glob only
			args = append(args, "--exclude="+w.branches+except)
		}
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
	for i, id := range ids {
		if i%manyCommits == 0 {
			if err := w.batch.Prefetch(ids[i:min(i+manyCommits, len(ids))], maxCommitSize); err != nil {
				return nil, err
			}
		}
		c, err := w.Commit(id)
		if err != nil {
			return nil, err
		}
		t := by[id]
		for _, parent := range c.Parents { // they come after it
			if by[parent] == nil {
				by[parent] = t
			}
		}
		if w.Found(t.History, id) {
			continue
		}
		w.seen[fresh{t.History, id}] = true
		commits = append(commits, w.fresh(id, c, t))
	}
	return reversed(commits), nil
}
