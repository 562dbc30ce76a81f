package checks

import (
	"fmt"
	"slices"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
)

// judgeIntermediate holds a commit from inside the fence that is no tip to what tips
// are held to: its protected paths, and the Directives of its COMMS.md, are those of a
// commit of main that is not older than the merge base. What a later commit takes back
// would else be main's own past as soon as the branch is merged, and then be no
// change of the agent's any more.
func judgeIntermediate(pass *Pass, c *walk.Commit, parents []string) error {
	if !pass.Push.Principal.Fenced() || pass.Push.brings(c.ID) || c.History == push.Journals || c.History == push.Records {
		return nil
	}
	path, err := heldUnlikeParents(pass, c, parents)
	if err != nil || path == "" {
		return err
	}
	same, err := likeMain(pass, c.History, c.ID, func(tree string) (bool, error) {
		changed, err := firstHeld(pass, c.History, tree, c.Tree)
		return changed == "", err
	})
	if err != nil || same {
		return err
	}
	d := diag.Diagnostic{Pos: at(c, path), Ref: c.Ref, Rule: "rights/protected",
		Message: "only the PM may change this path, in no commit of the push, and a later one does not mend it",
		Hint:    "take it out of this commit (git rebase -i), or push one commit: git merge --squash"}
	if path == comms.Path {
		d.Rule, d.Message = "comms/agent-directives", "Directives are not those of "+mainOf(pass, c.History)+", and a later commit does not mend it"
	}
	pass.Report(d)
	return nil
}

// heldUnlikeParents is a path that the agent is held to and that is not as all parents
// have it, "" for none.
func heldUnlikeParents(pass *Pass, c *walk.Commit, parents []string) (path string, err error) {
	if len(parents) == 0 {
		parents = []string{""}
	}
	for _, parent := range parents {
		if path, err = firstHeld(pass, c.History, parent, c.Tree); err != nil || path != "" {
			return path, err
		}
	}
	return "", nil
}

// firstHeld is the first path that the agent is held to in which two trees of a history
// differ: a protected one, or COMMS.md where its Directives do.
func firstHeld(pass *Pass, h push.History, from, to string) (path string, err error) {
	if path, err = firstChange(pass, from, to, covered(pass.Protected())); err != nil || path != "" || !h.Documents() {
		return path, err
	}
	before, _, err := pass.Repo.Lookup(from, comms.Path)
	if err != nil {
		return "", err
	}
	after, _, err := pass.Repo.Lookup(to, comms.Path)
	if err != nil || before.ID == after.ID {
		return "", err
	}
	old, err := commsOf(pass, from)
	if err != nil {
		return "", err
	}
	now, err := commsOf(pass, to)
	if err != nil || comms.DirectivesEqual(old, now) {
		return "", err
	}
	return comms.Path, nil
}

// commitWithMore finds a commit that a push brings to main and that changes more than
// COMMS.md, and the path: the commit is like no commit of main that is not older than
// its merge base. "" is for none. A push to main that reports is a report in each of
// its commits: they are main's past from then on.
func commitWithMore(pass *Pass, t *walk.Tip) (commit, path string, err error) {
	if t.Old == git.Zero || !t.Forward || slices.Equal(t.Commit.Parents, []string{t.Old}) {
		return "", "", nil
	}
	most := pass.Push.Config.Limits.Commits
	ids, err := pass.Repo.RevList("--topo-order", fmt.Sprintf("--max-count=%d", most+1), t.New, "^"+t.Old)
	if err != nil {
		return "", "", err
	}
	if len(ids) > most {
		return "", "", &walk.Exceeded{Message: fmt.Sprintf("more than %d commits that are new on main in one push", most)}
	}
	for _, id := range slices.Backward(ids) {
		c, err := pass.Repo.Commit(id)
		if err != nil {
			return "", "", err
		}
		first := ""
		same, err := likeMain(pass, t.History, id, func(tree string) (bool, error) {
			differs, err := firstChange(pass, tree, c.Tree, moreThanComms)
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

// moreThanComms reports whether a change is another than of COMMS.md's text.
func moreThanComms(c walk.Change) bool { return c.Path != comms.Path || c.Deleted() }
