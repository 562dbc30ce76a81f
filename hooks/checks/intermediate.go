package checks

import (
	"errors"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
)

// judgeIntermediate checks that an intermediate commit from inside the fence obeys the rules
// for tips: its protected paths, and the Directives of its COMMS.md, are those of a commit of
// main not older than the merge base. Otherwise a change that a later commit reverts would
// become part of main's history once the branch is merged, and would then no longer be the
// agent's change.
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

// heldUnlikeParents is a restricted path that differs from all parents, "" for none.
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

// firstHeld is the first restricted path in which two trees differ: a protected one, or
// COMMS.md if its Directives differ.
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

// unlikeReport finds a commit in a push from inside the fence to main that is not a plain
// report: its parent is not the previous one, it changes more than COMMS.md's text, or it
// changes nothing. Verdicts and good programs are looked up on main's first-parent history,
// and each move of main invalidates running pushes. why is "" if all are reports.
func unlikeReport(pass *Pass, t *walk.Tip) (commit, path, why string, err error) {
	if t.Old == git.Zero || !t.Forward {
		return "", "", "", nil // which is refused by itself
	}
	steps, err := pass.Repo.Chain(t, pass.Push.Config.Limits.Commits, 1)
	if broken := (*walk.ChainError)(nil); errors.As(err, &broken) {
		return broken.Commit, "", "what you append is one commit on top of the other, without merges: git rebase origin/" + branchName(t.Ref), nil
	}
	if err != nil {
		return "", "", "", err
	}
	before, err := treeOf(pass, t.Old)
	if err != nil {
		return "", "", "", err
	}
	for _, c := range steps {
		if c.Tree == before {
			return c.ID, "", "leave out the commit, which changes nothing", nil
		}
		if path, err = firstChange(pass, before, c.Tree, moreThanComms); path != "" || err != nil {
			return c.ID, path, takenByPM, err
		}
		before = c.Tree
	}
	return "", "", "", nil
}

// takenByPM is the remedy for work that is pushed to main.
const takenByPM = "push it to agent/<name>; the PM merges"

// moreThanComms reports whether a change is more than a change of COMMS.md's text.
func moreThanComms(c walk.Change) bool { return c.Path != comms.Path || c.Deleted() }
