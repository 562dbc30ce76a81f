package forge_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/loop"
)

const body = "Say hello to whoever is named.\n\n- [ ] it greets (`sh greet.sh Ada | grep -x \"Hello, Ada.\"`)\n"

var approveLine = regexp.MustCompile(`/ward approve [0-9a-f]{64}`)

// begun is a scene whose issue was approved, with the number and the unit of D-1.
func begun(t *testing.T) (*scene, int64, *unit) {
	t.Helper()
	s := newScene(t)
	n := s.forge.issue("greet the user", body)
	s.once(0)
	list := s.forge.comments(n)
	if len(list) != 1 || list[0].User.Login != s.forge.bot.Login {
		t.Fatalf("%+v", list)
	}
	line := approveLine.FindString(list[0].Body)
	gittest.InOrder(t, s.Run(s.Bare, "git-ward", "status", "--bare", s.Bare), "waits for you: Ward greet the user: issue", "is proposed as a directive, and a comment there starts it", line)
	s.forge.comment(s.forge.lead, n, line)
	s.once(0)
	if out := s.Run(s.Bare, "git-ward", "status", "--bare", s.Bare); strings.Contains(out, "proposed") {
		t.Fatal(out)
	}
	return s, n, s.begin("D-1")
}

// TestStory: an issue gets a label, a draft request comes, its status turns green on the judged
// commit, a person merges, and it is taken (FORGE-2 to FORGE-4).
func TestStory(t *testing.T) {
	tier.Full(t, "a real Gitea")
	s, n, u := begun(t)
	gittest.InOrder(t, s.Run(s.Bare, "git", "show", "ward:COMMS.md"), "### D-1: greet the user", "> Say hello to whoever is named.", "- [ ] it greets")
	gittest.InOrder(t, s.Run(s.Bare, "git-ward", "log", s.Bare), " pm "+s.forge.lead.Login+" ")
	if list := s.forge.comments(n); len(list) != 3 || !strings.Contains(list[2].Body, "D-1") {
		t.Fatalf("%+v", list)
	}
	commit := u.claims("greet.sh", "echo \"Hello, $1.\"\n")
	s.once(0)
	pulls := s.forge.pulls()
	if len(pulls) != 1 || !pulls[0].Draft || pulls[0].Head.Sha != commit || !strings.Contains(pulls[0].Title, "D-1: greet the user") {
		t.Fatalf("%+v", pulls)
	}
	if list := s.forge.statuses(commit); len(list) != 1 || list[0].Status != "pending" || list[0].Context != "ward/verdict" {
		t.Fatalf("%+v", list)
	}
	u.verdict(loop.Exact)
	u.step("LOOP_CONVERGED", uowComplete)
	u.push()
	s.once(0)
	if list := s.forge.statuses(commit); len(list) != 2 || list[0].Status != "success" {
		t.Fatalf("%+v", list)
	}
	if p := s.forge.pulls()[0]; p.Draft || !strings.Contains(p.Body, "EXACT") {
		t.Fatalf("%+v", p)
	}
	s.once(0) // and nothing is done twice
	if len(s.forge.comments(n)) != 3 || len(s.forge.statuses(commit)) != 2 {
		t.Fatal("something was done twice")
	}
	if out := s.Run(s.Bare, "git-ward", "forge", "--once", "--dry-run", "--bare", s.Bare); out != "nothing is to do\n" {
		t.Fatal(out)
	}
	s.Run(s.Bare, "git-ward", "take", "--bare", s.Bare, "D-1")
	if s.forge.pulls()[0].MergeCommit != s.at("main") {
		t.Fatal("the merge did not come here")
	}
	gittest.InOrder(t, s.Run(s.Bare, "git-ward", "directive", "show", "--bare", s.Bare), "D-1", "taken")
	gittest.InOrder(t, s.Run(s.Bare, "git", "log", "-1", "--format=%B", "main"), "Merge D-1: greet the user", "Verdict EXACT of D-1.1 on "+commit, "Assisted-by: codex:gpt-5", "Ward-Directive: D-1", "Ward-Record: refs/ward/record/D-1.1")
	s.once(0) // and the issue is closed, once
	s.once(0)
	var issue struct{ State string }
	s.forge.call("GET", fmt.Sprintf("/issues/%d", n), nil, &issue)
	s.says(n, 4, "D-1 is in the project, by "+s.forge.url)
	if issue.State != "closed" {
		t.Fatal(issue.State)
	}
	s.Fsck()
}
