package checks

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// shortWalk is how many commits are looked at one by one before rev-list is
// asked; most pushes are a few commits on top of a known tip, and a child costs
// as much as reading dozens.
const shortWalk = 32

// discover finds the tips and the commits that were never judged before, oldest
// first. With exact false the list may hold some that were: all that is linear
// down to a known tip.
func (r *Run) discover() (tips []*Tip, commits []*Commit, exact bool, err error) {
	known := map[string]bool{}
	if r.mainTip != "" {
		known[r.mainTip] = true
	}
	for _, u := range r.Updates {
		if u.New == git.Zero {
			continue
		}
		tip, err := r.tip(u)
		if err != nil {
			return nil, nil, false, err
		}
		if tip != nil {
			tips = append(tips, tip)
		}
	}
	seen := map[string]bool{}
	for _, t := range tips {
		fresh, ok, err := r.linear(t, known, seen)
		if err != nil {
			return nil, nil, false, err
		}
		if !ok {
			commits, err = r.revList(tips)
			return tips, commits, true, err
		}
		commits = append(commits, fresh...)
	}
	return tips, commits, false, nil
}

// tip peels an update's new value to a commit. Tags of anything else are
// refused: their content would enter unread.
func (r *Run) tip(u Update) (*Tip, error) {
	id := u.New
	for range 5 {
		object, data, err := r.batch.Read(id, 1<<20)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", diag.Clean(u.Ref), err)
		}
		if object.Kind == "commit" {
			c, err := git.ParseCommit(data)
			if err != nil {
				return nil, fmt.Errorf("commit %s: %w", diag.Short(id), err)
			}
			u.New = id
			return &Tip{Update: u, Commit: c}, nil
		}
		if object.Kind != "tag" {
			break
		}
		target, ok := strings.CutPrefix(string(firstLine(data)), "object ")
		if !ok || !git.IsID(target) {
			return nil, fmt.Errorf("%s: broken tag %s", diag.Clean(u.Ref), diag.Short(id))
		}
		id = target
	}
	r.Report(diag.Diagnostic{Ref: u.Ref, Rule: "ref/object", Message: "does not lead to a commit",
		Hint: "point branches and tags at commits only"})
	return nil, nil
}

func firstLine(data []byte) []byte {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	return line
}

// linear follows single parents from a tip down to its ref's old value or to
// main, and says whether it arrived. What it passes also answers the question
// of the merge base, without a child.
func (r *Run) linear(t *Tip, known, seen map[string]bool) (fresh []*Commit, ok bool, err error) {
	id, c := t.New, t.Commit
	for range shortWalk {
		if id == t.Old || known[id] {
			t.Base, t.Forward = id, id == t.Old || t.Old == git.Zero
			return reversed(fresh), true, nil
		}
		first := len(c.Parents) == 0 && t.Old == git.Zero && journal(t.Ref)
		if len(c.Parents) != 1 && !first {
			return nil, false, nil
		}
		if !seen[id] {
			seen[id] = true
			fresh = append(fresh, &Commit{ID: id, Commit: c, Ref: t.Ref})
		}
		if first { // a new journal shares nothing with what was judged before
			t.Forward = true
			return reversed(fresh), true, nil
		}
		id = c.Parents[0]
		if c, err = r.commit(id); err != nil {
			return nil, false, err
		}
	}
	return nil, false, nil
}

func reversed(commits []*Commit) []*Commit {
	for i, j := 0, len(commits)-1; i < j; i, j = i+1, j-1 {
		commits[i], commits[j] = commits[j], commits[i]
	}
	return commits
}

// revList asks git for the commits that no judged ref reaches.
func (r *Run) revList(tips []*Tip) ([]*Commit, error) {
	ids, err := r.newIDs(tips)
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

func (r *Run) newIDs(tips []*Tip) ([]string, error) {
	args := []string{"rev-list", "--topo-order", fmt.Sprintf("--max-count=%d", r.Config.Limits.Commits+1)}
	for _, t := range tips {
		args = append(args, t.New)
	}
	args = append(args, "--not", r.Known)
	for _, u := range r.Updates {
		if u.Old != git.Zero {
			args = append(args, u.Old)
		}
	}
	out, err := r.repo.Output(r.ctx, append(args, "--")...)
	return strings.Fields(string(out)), err
}

// dropKnown takes back findings about commits that were judged before. It runs
// only when the short walk found something: refusals may cost a child more.
func (r *Run) dropKnown(tips []*Tip) error {
	ids, err := r.newIDs(tips)
	if err != nil {
		return err
	}
	fresh := map[string]bool{"": true}
	for _, id := range ids {
		fresh[id] = true
	}
	kept := r.result.Findings[:0]
	for _, d := range r.result.Findings {
		if fresh[d.Commit] {
			kept = append(kept, d)
		}
	}
	r.result.Findings = kept
	return nil
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
