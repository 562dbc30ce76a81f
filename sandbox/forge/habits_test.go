package forge_test

import (
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/loop"
	"git-ward/sandbox/forge/client"
)

// TestHubHabits: a private project of a free plan takes no drafts, a person's name is all digits, a
// rule of the branch wants another status, the project lets requests be rebased alone, and a review
// names a file and no line.
func TestHubHabits(t *testing.T) {
	tier.Full(t, "GitHub's description, and git's own server")
	h := newHub(t)
	h.p.NoDrafts, h.p.RebaseOnly = true, true
	h.s.User("4711", "User")
	h.p.Give("4711", "write")
	n := h.p.Issue("eve", "greet the user", body)
	h.p.Label(n, "4711", "ward", true)
	h.once(0)
	h.p.Say(n, "4711", approveLine.FindString(h.said(n)))
	h.once(0)
	gittest.InOrder(t, h.said(n), "D-1 is this text, by the word of `4711`")
	u := h.begin("D-1")
	commit := u.claims("greet.sh", "echo \"Hello, $1.\"\n")
	h.once(0)
	made, state := h.request("D-1")
	if seen, err := h.as("ann", "User").Issue(t.Context(), made.Number); err != nil || !strings.HasPrefix(seen.Title.Raw(), "WIP: D-1: ") || !made.Draft || state != "pending" {
		t.Fatalf("%+v %s, seen %+v %v", made, state, seen, err)
	}
	u.verdict(loop.Exact)
	u.step("LOOP_CONVERGED", uowComplete)
	u.push()
	h.once(0)
	if made, state = h.request("D-1"); made.Draft || state != "success" {
		t.Fatalf("%+v %s", made, state)
	}
	h.p.Required = "ci/tests"
	before := h.at("main")
	if out, err := h.Try(h.Bare, nil, "", "git-ward", "take", "--bare", h.Bare, "D-1"); err == nil || !strings.Contains(out, "Pull Request is not mergeable") || h.at("main") != before {
		t.Fatal(err, out)
	}
	h.p.Required = ""
	h.Run(h.Bare, "git-ward", "take", "--bare", h.Bare, "D-1")
	if main := h.at("main"); main == before || h.at("refs/ward/forge/taken/"+commit) != main || h.at("main^") != before {
		t.Fatal(main)
	}
	gittest.InOrder(t, h.Run(h.Bare, "git-ward", "directive", "show", "--bare", h.Bare), "D-1", "taken")

	h.proposed("greet in French")
	h.begin("D-2").claims("salut.sh", "echo \"Salut, $1.\"\n")
	h.once(0)
	made, _ = h.request("D-2")
	h.p.ReviewFiles(made.Number, "4711", "CHANGES_REQUESTED", "", "of all of it")
	h.once(0)
	gittest.InOrder(t, h.Run(h.Bare, "git", "log", "-p", "refs/ward/uow/D-2.1"), "greet.sh: of all of it")
	h.p.Close(made.Number)
	h.once(0)
	if made, _ = h.request("D-2"); made.State != client.Closed {
		t.Fatalf("%+v", made)
	}
	h.Fsck()
}

// TestHubFilled: a stranger's thread of more than is read, and an issue of a megabyte, keep nobody
// from the others, and what is to be done about it is said (FORGE-5).
func TestHubFilled(t *testing.T) {
	tier.Full(t, "GitHub's description, and git's own server")
	h := newHub(t)
	filled := h.labelled("greet the user")
	text := strings.Repeat("/ward drop, at length. ", 1<<20/23)
	for range 34 {
		h.p.Say(filled, "eve", text)
	}
	large := h.p.Issue("eve", "greet at length", text)
	h.p.Label(large, "ann", "ward", true)
	n := h.p.Issue("eve", "greet in Welsh", body)
	h.p.Label(n, "ann", "ward", true)
	gittest.InOrder(t, h.once(1), "issue 1 does not go on", "more than 32 MiB", "delete there what they wrote, and lock it")
	gittest.InOrder(t, h.said(large), "line 1: the issue has 10485", "more than 16384: say less")
	h.p.Say(n, "ann", approveLine.FindString(h.said(n)))
	h.once(1)
	gittest.InOrder(t, h.said(n), "D-1 is this text, by the word of `ann`")
}
