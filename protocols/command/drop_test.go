package command_test

import (
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// A drop closes the directive, ends its unit, deletes the branch, and says so once; what
// was claimed stays on the record. An edit opens the directive again (REC-3).
func TestDrop(t *testing.T) {
	p := newCopy(t)
	claimed, branch := claim(t, p, "D-2.1"), tip(p, "refs/heads/agent/D-2")
	out := ward(t, p, 0, "drop", "-m", "We have another way.", "D-2")
	gittest.InOrder(t, out, "dropped: D-2 say bye\n", "  agent/D-2 is deleted, which was at "+branch, "kept by refs/ward/record/D-2.1\n", "git ward directive edit D-2\n")
	if refs := p.Run(p.Bare, "git", "for-each-ref", "refs/heads/agent/D-2"); refs != "" {
		t.Errorf("%s", refs)
	}
	p.Run(p.Bare, "git", "merge-base", "--is-ancestor", claimed, "refs/ward/record/D-2.1")
	gittest.InOrder(t, p.Run(p.Bare, "git", "show", "main:COMMS.md"), " D-2 DONE\nDirective: ", "\nDropped: "+branch+"\nWe have another way.\n")
	main := tip(p, "main")
	if out := ward(t, p, 0, "drop", "D-2"); out != "D-2 say bye was dropped already\n" || tip(p, "main") != main {
		t.Errorf("%s", out)
	}
	gittest.InOrder(t, ward(t, p, 0, "review", "D-2"), "D-2 say bye: dropped; proved: ", "\nnext: git ward directive edit D-2 (opens it again)\n")
	gittest.InOrder(t, ward(t, p, 1, "take", "D-2"), "D-2 was dropped\n")
	gittest.InOrder(t, ward(t, p, 2, "uow", "fork", "D-2.1"), "D-2 was dropped, so that nobody works on this text\n")
	ward(t, p, 0, "directive", "edit", "--untried", "-m", "say bye\n\nAnother way.\n\n- [ ] it says bye (`true`)", "D-2")
	gittest.InOrder(t, ward(t, p, 0, "directive", "show"), "D-1        ready to take ", "D-2        not begun ")

	// A verb of units says which unit of a directive is meant.
	gittest.InOrder(t, ward(t, p, 2, "uow", "cancel", "D-5"), "D-5 is a directive", "hint: its newest unit: git ward uow cancel D-5.1\n")
	gittest.InOrder(t, ward(t, p, 2, "uow", "cancel", "D-6"), "D-6 is a directive", "hint: it has no unit yet")

	// One at work: the agent takes up nothing of it any more.
	out = ward(t, p, 0, "drop", "D-5")
	gittest.InOrder(t, out, "D-5.1: cancelled", "dropped: D-5 go on\n", "  D-5.1 is ended\n", "  agent/D-5 is deleted")
	gittest.InOrder(t, ward(t, p, 0, "uow", "show", "D-5.1"), "cancel", "NOT_NEEDED")
	gittest.InOrder(t, ward(t, p, 0, "drop", "D-6"), "dropped: D-6 one more\n")
	ward(t, p, 0, "take", "D-1")
	gittest.InOrder(t, ward(t, p, 1, "drop", "D-1"), "git-ward: error: D-1 was taken, by ", "git revert -m 1 ")
	gittest.InOrder(t, ward(t, p, 1, "drop", "D-9"), "there is no directive D-9\n")
	gittest.InOrder(t, ward(t, p, 2, "drop", "D-1.1"), "drop takes one directive")
	p.Fsck()
}

// A drop that is killed at any of its steps is brought to its end by the next.
func TestDropKilled(t *testing.T) {
	tier.Full(t, "a drop killed at each of its steps")
	p := newCopy(t)
	restore := saved(t, p)
	for _, n := range steps(killed(t, p, 0, "", "drop", "D-5")) {
		restore()
		killed(t, p, n, "after", "drop", "D-5")
		ward(t, p, 0, "drop", "D-5")
		comms := p.Run(p.Bare, "git", "show", "main:COMMS.md")
		if refs := p.Run(p.Bare, "git", "for-each-ref", "refs/heads/agent/D-5"); refs != "" || strings.Count(comms, "\nDropped: ") != 1 {
			t.Errorf("%d: %s\n%s", n, refs, comms)
		}
		gittest.InOrder(t, ward(t, p, 0, "uow", "show", "--all"), "D-5.1  cancelled")
	}
	p.Fsck()
}
