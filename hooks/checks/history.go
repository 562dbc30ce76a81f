package checks

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/hooks/push"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
)

// onTheWay holds a commit from inside the fence that is no tip to what tips are held
// to: its protected paths, and the Directives of its COMMS.md, are those of a commit
// of main that is not older than the merge base. What a later commit takes back
// would else be main's own past as soon as the branch is merged, and then be no
// change of the agent's any more.
func (r *Run) onTheWay(c *Commit, parents []string) error {
	tip := slices.ContainsFunc(r.Updates, func(u push.Update) bool { return u.New == c.ID })
	if !r.Principal.Fenced() || tip || push.IsJournal(c.Ref) {
		return nil
	}
	path, err := r.unlikeParents(c, parents)
	if err != nil || path == "" {
		return err
	}
	same, err := r.someMain(c.ID, func(tree string) (bool, error) {
		changed, err := r.firstHeld(tree, c.Tree)
		return changed == "", err
	})
	if err != nil || same {
		return err
	}
	d := diag.Diagnostic{Pos: at(c, path), Ref: c.Ref, Rule: "rights/protected",
		Message: "only the PM may change this path, in no commit of the push, and a later one does not mend it",
		Hint:    "take it out of this commit (git rebase -i), or push one commit: git merge --squash"}
	if path == comms.Path {
		d.Rule, d.Message = "comms/agent-directives", "Directives are not those of main, and a later commit does not mend it"
	}
	r.Report(d)
	return nil
}

// unlikeParents is a held path that is not as all parents have it, "" for none.
func (r *Run) unlikeParents(c *Commit, parents []string) (path string, err error) {
	if len(parents) == 0 {
		parents = []string{""}
	}
	for _, parent := range parents {
		if path, err = r.firstHeld(parent, c.Tree); err != nil || path != "" {
			return path, err
		}
	}
	return "", nil
}

// firstHeld is the first path that the agent is held to in which two trees differ:
// a protected one, or COMMS.md where its Directives do.
func (r *Run) firstHeld(from, to string) (path string, err error) {
	if path, err = r.firstCovered(from, to, r.protectedPaths()); err != nil || path != "" {
		return path, err
	}
	before, err := r.commsEntry(from)
	if err != nil {
		return "", err
	}
	after, err := r.commsEntry(to)
	if err != nil || before.ID == after.ID {
		return "", err
	}
	old, err := r.commsOf(from)
	if err != nil {
		return "", err
	}
	now, err := r.commsOf(to)
	if err != nil || comms.DirectivesEqual(old, now) {
		return "", err
	}
	return comms.Path, nil
}

func (r *Run) commsEntry(tree string) (git.Entry, error) {
	e, _, err := r.trees.lookup(tree, comms.Path)
	return e, err
}

// besides finds a commit that a push brings to main, and a path besides COMMS.md in
// which it is like no commit of main that is not older than its merge base; "" for
// none. A push to main that reports is a report in each of its commits: they are
// main's past from then on.
func (r *Run) besides(t *Tip) (commit, path string, err error) {
	if t.Old == git.Zero || !t.Forward || slices.Equal(t.Commit.Parents, []string{t.Old}) {
		return "", "", nil
	}
	most := r.Config.Limits.Commits
	out, err := r.repo.Output(r.ctx, "rev-list", "--topo-order", fmt.Sprintf("--max-count=%d", most+1), t.New, "^"+t.Old, "--")
	if err != nil {
		return "", "", err
	}
	ids := strings.Fields(string(out))
	if len(ids) > most {
		return "", "", &limitError{"", fmt.Sprintf("more than %d commits that are new on main in one push", most)}
	}
	slices.Reverse(ids)
	for _, id := range ids {
		c, err := r.commit(id)
		if err != nil {
			return "", "", err
		}
		first := ""
		same, err := r.someMain(id, func(tree string) (bool, error) {
			differs, err := r.firstBesides(tree, c.Tree)
			if first == "" {
				first = differs
			}
			return differs == "", err
		})
		if err != nil {
			return "", "", err
		}
		if !same {
			return id, first, nil
		}
	}
	return "", "", nil
}

// firstBesides is the first path but COMMS.md in which two trees differ.
func (r *Run) firstBesides(from, to string) (path string, err error) {
	walk := comparison{trees: r.trees, deletions: true, visit: func(c Change) error {
		if c.Path == comms.Path && !c.Deleted() {
			return nil
		}
		path = c.Path
		return errFound
	}}
	if err := walk.compare([]string{from}, to); err != nil && path == "" {
		return "", err
	}
	return path, nil
}
