package checks

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"git-ward/hooks/push"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// discover finds the tips and the fresh commits, oldest first: those that no
// judged branch reaches, and none besides (GATE-2). The records of journals are
// walked apart: who is known there is not known to a branch.
func (r *Run) discover() (tips []*Tip, fresh []*Commit, err error) {
	var content, journals []*Tip
	for _, u := range r.Updates {
		if u.New == git.Zero {
			continue
		}
		tip, err := r.tip(u)
		switch {
		case err != nil && !r.bad(&Commit{ID: u.New, Ref: u.Ref}, err):
			return nil, nil, err
		case tip == nil: // a finding says why
		case push.IsJournal(u.Ref):
			journals = append(journals, tip)
		default:
			content = append(content, tip)
		}
	}
	if r.stopped {
		return nil, nil, nil
	}
	if fresh, err = r.freshCommits(content); err != nil {
		return nil, nil, err
	}
	for _, t := range journals {
		if err := r.journalSteps(t); err != nil {
			return nil, nil, err
		}
		fresh = append(fresh, t.Steps...)
	}
	return append(content, journals...), fresh, nil
}

// maxTags bounds how many tags lead to one another, and maxTagSize each of them.
const (
	maxTags    = 5
	maxTagSize = 1 << 20
)

// tip peels an update's new value to a commit, by tags that are judged on the way.
// Tags of anything else are refused: their content would enter unread. It is nil
// where a finding says why.
func (r *Run) tip(u push.Update) (*Tip, error) {
	id, want := u.New, ""
	for range maxTags {
		object, err := r.batch.Info(id)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", diag.Clean(u.Ref), err)
		}
		if want != "" && object.Kind != want {
			return nil, wrongKind(id, object.Kind, want)
		}
		if object.Kind == "commit" {
			u.New = id
			c, err := r.commit(id)
			return &Tip{Update: u, Commit: c}, err
		}
		if object.Kind != "tag" {
			break
		}
		tag, err := r.tag(u.Ref, id)
		if err != nil {
			return nil, err
		}
		id, want = tag.Object, tag.Kind
	}
	r.Report(diag.Diagnostic{Ref: u.Ref, Rule: "ref/object", Message: "does not lead to a commit",
		Hint: "point branches and tags at commits only"})
	r.stopped = true
	return nil, nil
}

// tag reads and judges one tag object.
func (r *Run) tag(ref, id string) (*git.Tag, error) {
	object, data, err := r.batch.Read(id, maxTagSize)
	var large *git.TooLarge
	if errors.As(err, &large) {
		return nil, &limitError{"", large.Error()}
	}
	if err != nil {
		return nil, err
	}
	if err := r.spend(object.Size); err != nil {
		return nil, err
	}
	r.met[id] = true
	tag, err := git.ParseTag(data)
	var form *git.FormError
	if err != nil {
		if !errors.As(err, &form) || !form.OneMeaning {
			return nil, &objectError{id: id, err: err}
		}
		r.form(&Commit{ID: id, Ref: ref}, &objectError{id: id, err: form})
	}
	for _, check := range r.table {
		if check.Tag != nil {
			check.Tag(r, &Tag{ID: id, Tag: tag, Ref: ref})
		}
	}
	return tag, nil
}

// shortWalk is how many commits are looked at one by one before rev-list is
// asked; most pushes are a few commits on top of a known tip, and a child costs
// as much as reading dozens.
const shortWalk = 32

// freshCommits are the commits of tips that nobody judged before, oldest first.
func (r *Run) freshCommits(tips []*Tip) (fresh []*Commit, err error) {
	seen := map[string]bool{}
	for _, t := range tips {
		more, ok, err := r.linear(t, seen)
		if err != nil {
			return nil, err
		}
		if !ok {
			return r.revList(tips)
		}
		fresh = append(fresh, more...)
	}
	return fresh, nil
}

// linear follows single parents from a tip down to its branch's old value or to
// main, and says whether it arrived. Only commits that came with this push count
// as fresh without asking git; all others may be known by some branch. What it
// passes also answers the question of the merge base, without a child.
func (r *Run) linear(t *Tip, seen map[string]bool) (fresh []*Commit, ok bool, err error) {
	id, c := t.New, t.Commit
	for range shortWalk {
		atOld := id == t.Old && push.IsBranch(t.Ref)
		if atOld || id == r.mainTip {
			t.Base, t.Forward = id, id == t.Old || t.Old == git.Zero
			return reversed(fresh), true, nil
		}
		if len(c.Parents) != 1 || !r.batch.Arrived(id) {
			return nil, false, nil
		}
		if !seen[id] {
			seen[id] = true
			fresh = append(fresh, &Commit{ID: id, Commit: c, Ref: t.Ref})
		}
		id = c.Parents[0]
		if c, err = r.commit(id); err != nil {
			return nil, false, err
		}
	}
	return nil, false, nil
}

func reversed(commits []*Commit) []*Commit {
	slices.Reverse(commits)
	return commits
}

// revList asks git for the commits that no judged branch reaches.
func (r *Run) revList(tips []*Tip) ([]*Commit, error) {
	ids, err := r.freshIDs(tips)
	if err != nil {
		return nil, err
	}
	if len(ids) > r.Config.Limits.Commits {
		return nil, &limitError{"", fmt.Sprintf("more than %d new commits in one push", r.Config.Limits.Commits)}
	}
	refs := map[string]string{}
	for _, t := range tips {
		t.Base, t.Forward, t.Merges = "", false, true
		refs[t.New] = t.Ref
	}
	commits := make([]*Commit, 0, len(ids))
	const chunk = 512
	for i, id := range ids {
		if i%chunk == 0 {
			if err := r.batch.Prefetch(ids[i:min(i+chunk, len(ids))], maxCommitSize); err != nil {
				return nil, err
			}
		}
		c, err := r.commit(id)
		if err != nil {
			return nil, err
		}
		commits = append(commits, &Commit{ID: id, Commit: c, Ref: refs[id]})
	}
	return reversed(commits), nil
}

// freshIDs lists the commits that the tips reach and no judged branch does, one
// more than the limit at most, the newest first.
func (r *Run) freshIDs(tips []*Tip) ([]string, error) {
	args := []string{"rev-list", "--topo-order", fmt.Sprintf("--max-count=%d", r.Config.Limits.Commits+1)}
	for _, t := range tips {
		args = append(args, t.New)
	}
	args = append(append(args, "--not"), r.judgedBranches()...)
	out, err := r.repo.Output(r.ctx, append(args, "--")...)
	return strings.Fields(string(out)), err
}

// judgedBranches are rev-list's arguments for the branches whose commits this
// principal need not have judged again. What passed as the PM's is not judged as
// the agent's, or the watcher's.
func (r *Run) judgedBranches() (args []string) {
	if r.mainTip != "" {
		args = []string{r.mainTip}
	}
	switch r.Principal {
	case push.PM, push.Member:
		args = append(args, "--glob="+r.Branches+"*")
	case push.Agent:
		args = append(args, "--glob="+r.Branches+"agent/*", "--glob="+r.Branches+"rescue/*")
	}
	return args
}

// findBase settles what a tip is compared with, where the short walk has not.
func (r *Run) findBase(t *Tip) error {
	if t.Base != "" {
		return nil
	}
	if t.Old != git.Zero {
		forward, err := r.repo.Exits(r.ctx, "merge-base", "--is-ancestor", t.Old, t.New)
		if err != nil {
			return err
		}
		if forward {
			t.Base, t.Forward = t.Old, true
			return nil
		}
	}
	base, err := r.mergeBase(t.New)
	t.Base = base
	return err
}

// mergeBase is a commit's merge base with main, "" when they share nothing.
func (r *Run) mergeBase(commit string) (string, error) {
	if r.mainTip == "" {
		return "", nil
	}
	out, err := r.repo.Output(r.ctx, "merge-base", commit, r.mainTip)
	var exit interface{ ExitCode() int }
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return "", nil
	}
	return strings.TrimSpace(string(out)), err
}
