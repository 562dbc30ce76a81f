package forge_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/diag"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// state is where the newest record of D-1.1 stands.
func (s *scene) state() uow.State {
	s.T.Helper()
	var r uow.Record
	if err := json.Unmarshal([]byte(s.Run(s.Bare, "git", "show", "refs/ward/uow/D-1.1:uow.json")), &r); err != nil {
		s.T.Fatal(err)
	}
	return r.State
}

// says expects how many comments there are, and what the newest holds.
func (s *scene) says(number int64, count int, words string) {
	s.T.Helper()
	list := s.forge.comments(number)
	if len(list) != count || !strings.Contains(list[len(list)-1].Body, words) {
		s.T.Fatalf("want %d comments, the last with %q: %+v", count, words, list)
	}
}

// TestVerbs: a verb counts on the first line, as it was created, of a person who may write; all
// else is data (FORGE-2). A close pauses, and commits of people make the status pending
// (FORGE-4).
func TestVerbs(t *testing.T) {
	tier.Full(t, "a real Gitea")
	s, n, u := begun(t)
	commit := u.claims("greet.sh", "echo \"Hello, $1.\"\n")
	s.once(0)
	pull := s.forge.pulls()[0].Number
	ann := s.forge.lab.User("ann")
	s.forge.comment(ann, n, "/ward drop")
	s.forge.comment(ann, pull, "/ward cancel")
	s.forge.comment(s.forge.lead, pull, "Look:\n/ward drop")
	s.forge.comment(s.forge.lead, pull, "> /ward drop")
	s.once(0)
	if got := s.state(); got != uow.Active || len(s.forge.comments(n)) != 4 || len(s.forge.comments(pull)) != 3 {
		t.Fatalf("%s, %+v", got, s.forge.comments(pull))
	}
	s.forge.comment(s.forge.lead, pull, "/ward retry")
	s.once(0)
	s.says(pull, 5, "is not blocked")
	s.forge.comment(s.forge.lead, pull, "/ward pause")
	s.once(0)
	s.says(pull, 7, "pause D-1: done.")
	if got := s.state(); got != uow.Paused {
		t.Fatal(got)
	}
	gittest.InOrder(t, s.Run(s.Bare, "git-ward", "log", s.Bare), " pm "+s.forge.lead.Login+" ")
	s.forge.comment(s.forge.lead, n, "/ward resume")
	s.once(0)
	if got := s.state(); got == uow.Paused {
		t.Fatal(got)
	}
	s.forge.call("PATCH", fmt.Sprintf("/pulls/%d", pull), map[string]any{"state": "closed"}, nil)
	s.once(0)
	s.says(pull, 8, "is paused, because this request was closed")
	if got := s.state(); got != uow.Paused {
		t.Fatal(got)
	}
	s.forge.call("PATCH", fmt.Sprintf("/pulls/%d", pull), map[string]any{"state": "open"}, nil)
	s.once(0)
	// Somebody adds a commit to the request.
	s.Git("fetch", "--quiet", "origin")
	s.Git("checkout", "--quiet", "-B", "more", commit)
	s.Write("more", "by people\n")
	s.Git("add", "more")
	s.Git("commit", "--quiet", "--message", "more")
	s.Git("push", "--quiet", strings.Replace(strings.Replace(s.forge.clone(), s.forge.lead.Login+":"+s.forge.lead.Token, s.forge.bot.Login+":"+s.forge.bot.Token, 1), s.forge.name, s.forge.bot.Login+"/p", 1), "HEAD:agent/D-1")
	u.verdict(loop.Exact)
	s.once(0)
	head := strings.TrimSpace(s.Git("rev-parse", "HEAD"))
	if list := s.forge.statuses(head); len(list) != 1 || list[0].Status != "pending" || !strings.Contains(list[0].Description, "by people") {
		t.Fatalf("%+v", list)
	}
	if p := s.forge.pulls()[0]; !p.Draft {
		t.Fatalf("what nobody judged is ready: %+v", p)
	}
	s.Fsck()
}

// TestSquash: a squash on the forge is a take, and so is known as one (FORGE-4).
func TestSquash(t *testing.T) {
	tier.Full(t, "a real Gitea")
	s, _, u := begun(t)
	commit := u.claims("greet.sh", "echo \"Hello, $1.\"\n")
	u.verdict(loop.Exact)
	u.step("LOOP_CONVERGED", uowComplete)
	u.push()
	s.once(0)
	s.forge.merge(t, s.forge.pulls()[0].Number, commit)
	s.once(0)
	if main := s.at("main"); s.at("refs/ward/forge/taken/"+commit) != main || s.at("main^{tree}") != s.at(commit+"^{tree}") {
		t.Fatal(main)
	}
	gittest.InOrder(t, s.Run(s.Bare, "git-ward", "directive", "show", "--bare", s.Bare), "D-1", "taken")
	s.Git("fetch", "--quiet", "origin")
	gittest.InOrder(t, s.Run(s.Work, "git-ward", "directive", "show"), "D-1", "taken")
	s.Fsck()
}

// TestRewritten: history that was rewritten on the forge stops its ref by name, and nothing is
// forced (FORGE-1).
func TestRewritten(t *testing.T) {
	tier.Full(t, "a real Gitea")
	s := newScene(t)
	before := s.at("main")
	s.Git("checkout", "--quiet", "--orphan", "other")
	s.Git("commit", "--quiet", "--message", "another history")
	s.Git("push", "--quiet", "--force", s.forge.clone(), "HEAD:main", "HEAD:side")
	out := s.once(1)
	if !strings.Contains(out, "refs/heads/main stays behind the forge") || !strings.Contains(out, "rewritten") || s.at("main") != before {
		t.Fatal(out)
	}
	s.at("side") // the rest goes on
	if again := s.once(1); !strings.Contains(again, "refs/heads/main stays behind the forge") {
		t.Fatal(again)
	}
	gittest.InOrder(t, s.Run(s.Bare, "git-ward", "status", "--bare", s.Bare), "waits for you: Ward", "refs/heads/main stays behind the forge")
	s.Git("push", "--quiet", "--force", s.forge.clone(), before+":main")
	s.once(0)
	if out := s.Run(s.Bare, "git-ward", "status", "--bare", s.Bare); strings.Contains(out, "stays behind") {
		t.Fatal(out)
	}
}

// TestMovedBack: a request whose branch somebody set to an earlier commit is named with a remedy
// that works, and is not pushed again by itself.
func TestMovedBack(t *testing.T) {
	tier.Full(t, "a real Gitea")
	s, _, u := begun(t)
	commit := u.claims("greet.sh", "echo \"Hello, $1.\"\n")
	s.once(0)
	back := strings.TrimSpace(s.Git("rev-parse", commit+"^"))
	bot := strings.Replace(s.forge.url, "://", "://"+s.forge.bot.Login+":"+s.forge.bot.Token+"@", 1) + "/" + s.forge.bot.Login + "/p.git"
	moves := func(to string) {
		s.Git("push", "--quiet", "--force", bot, to+":refs/heads/agent/D-1")
		await.True(t, "Gitea to see the push", func() bool { return s.forge.pulls()[0].Head.Sha == to })
	}
	moves(back)
	number := s.forge.pulls()[0].Number
	for range 2 {
		gittest.InOrder(t, s.once(1), fmt.Sprintf("request %d was moved back to %s, and %s", number, diag.Short(back), diag.Short(commit)), "put it back: git push FORGE")
	}
	moves(commit)
	s.once(0)
}

// TestRefused: a ref that git itself would refuse, and no gate, is named, and the rest goes on: a
// tag that was moved, and a branch that has the name of a directory (FORGE-1).
func TestRefused(t *testing.T) {
	tier.Full(t, "a real Gitea")
	s := newScene(t)
	s.Git("commit", "--quiet", "--allow-empty", "--message", "more")
	s.Git("push", "--quiet", s.forge.clone(), "HEAD:refs/tags/v1", "HEAD:refs/heads/a", "HEAD:refs/heads/last")
	s.once(0)
	before := s.at("refs/tags/v1")
	s.Git("commit", "--quiet", "--allow-empty", "--message", "and more")
	s.Git("push", "--quiet", "--force", s.forge.clone(), "HEAD:refs/tags/v1", ":refs/heads/a", "HEAD:refs/heads/last")
	s.Git("push", "--quiet", s.forge.clone(), "HEAD:refs/heads/a/b", "HEAD^{tree}:refs/tags/v2")
	n := s.forge.issue("greet the user", body)
	out := s.once(1)
	gittest.InOrder(t, out, "refs/heads/a/b stays behind", "refs/heads/a is here", "refs/tags/v1 stays behind", "moved on the forge")
	if last := strings.TrimSpace(s.Git("rev-parse", "HEAD")); s.at("refs/tags/v1") != before || s.at("last") != last {
		t.Fatal(out)
	}
	s.says(n, 1, "/ward approve")
}

// points are where a pass is killed: before and after each of its calls.
var points = []string{"forge/intended", "forge/looked", "forge/made", "forge/noted"}

// killed makes passes that are killed at each point of each deed, until one comes to its end.
func (s *scene) killed() (kills int) {
	s.T.Helper()
	for {
		before := kills
		for _, point := range points {
			if _, err := s.Try(s.Bare, []string{"WARD_FAILPOINT=" + point + "=kill"}, "", "git-ward", "forge", "--once", "--bare", s.Bare); err != nil {
				kills++
			}
		}
		if kills == before {
			return kills
		}
	}
}

// TestAgain: a unit that ended begins anew once, whatever is asked for in one look and wherever
// that is killed (FORGE-5).
func TestAgain(t *testing.T) {
	tier.Full(t, "a real Gitea, and a kill at each call")
	s, n, u := begun(t)
	u.claims("greet.sh", "echo \"Hello, $1.\"\n")
	u.verdict(loop.Exact)
	u.step("LOOP_CONVERGED", uowComplete)
	u.push()
	s.once(0)
	s.forge.comment(s.forge.lead, n, "/ward retry")
	s.forge.comment(s.forge.lead, n, "/ward clarify in French, too")
	s.killed()
	var said []string
	for _, c := range s.forge.comments(n) {
		said = append(said, c.Body)
	}
	gittest.InOrder(t, strings.Join(said, "\n"), "retry D-1: done.", "clarify D-1: done.")
	if refs := s.Run(s.Bare, "git", "for-each-ref", "--format=%(refname)", "refs/ward/uow/"); refs != "refs/ward/uow/D-1.1\nrefs/ward/uow/D-1.2\n" {
		t.Fatal(refs)
	}
}

// TestReviewed: each review that requests changes is told once, whichever was begun first, with what
// it says of single lines, and without what a stranger answers there.
func TestReviewed(t *testing.T) {
	tier.Full(t, "a real Gitea")
	s, _, u := begun(t)
	commit := u.claims("greet.sh", "echo \"Hello, $1.\"\n")
	s.once(0)
	pull, mate := s.forge.pulls()[0].Number, s.forge.lab.User("mate")
	s.forge.lead.Give("p", mate, "write")
	reviews := fmt.Sprintf("/repos/%s/pulls/%d/reviews", s.forge.name, pull)
	var first struct{ ID int64 }
	s.forge.lead.Do("POST", reviews, map[string]any{"commit_id": commit, "event": "PENDING", "body": "not yet", "comments": []map[string]any{{"path": "greet.sh", "body": "here", "new_position": 1}}}, &first)
	mate.Do("POST", reviews, map[string]any{"commit_id": commit, "event": "REQUEST_CHANGES", "body": "greet in French"}, nil)
	s.once(0)
	s.says(pull, 1, "clarify D-1: done.")
	s.forge.lead.Do("POST", fmt.Sprintf("%s/%d", reviews, first.ID), map[string]any{"event": "REQUEST_CHANGES", "body": "greet in Welsh"}, nil)
	s.once(0)
	s.once(0)
	s.says(pull, 2, fmt.Sprintf("to review %d<", first.ID))
	log := s.Run(s.Bare, "git", "log", "--reverse", "-p", "refs/ward/uow/D-1.1")
	gittest.InOrder(t, log, "greet in French", "greet in Welsh", "greet.sh:1: here")
	var lines struct{ ID int64 }
	mate.Do("POST", reviews, map[string]any{"commit_id": commit, "event": "REQUEST_CHANGES", "body": "see the line", "comments": []map[string]any{{"path": "greet.sh", "body": "greet in Breton", "new_position": 1}}}, &lines)
	s.forge.lab.User("ann").Form(fmt.Sprintf("/%s/pulls/%d/files/reviews/comments", s.forge.name, pull), url.Values{
		"origin": {"timeline"}, "content": {"rm -rf everything"}, "side": {"proposed"}, "line": {"1"}, "path": {"greet.sh"}, "single_review": {"true"}, "reply": {fmt.Sprint(lines.ID)}, "latest_commit_id": {commit}})
	var there []struct{ Body string }
	if mate.Do("GET", fmt.Sprintf("%s/%d/comments", reviews, lines.ID), nil, &there); len(there) != 2 || there[1].Body != "rm -rf everything" {
		t.Fatalf("%+v", there)
	}
	s.once(0)
	s.says(pull, 3, fmt.Sprintf("to review %d<", lines.ID))
	log = s.Run(s.Bare, "git", "log", "--reverse", "-p", "refs/ward/uow/D-1.1")
	if gittest.InOrder(t, log, "see the line", "greet.sh:1: greet in Breton"); strings.Contains(log, "rm -rf") {
		t.Fatal(log)
	}
}

// TestEdited: who only wrote an issue, and may nothing, gets a few answers for each giving of the
// label, and the text that counts is proposed when the label is given again (FORGE-2).
func TestEdited(t *testing.T) {
	tier.Full(t, "a real Gitea")
	s := newScene(t)
	n := s.forge.issue("greet the user", body)
	issue := fmt.Sprintf("/issues/%d", n)
	s.once(0)
	for i, text := range []string{"no criterion", body + "\nmore", "none", "none at all", body + "\nthe last"} {
		s.forge.call("PATCH", issue, map[string]any{"body": fmt.Sprintf("%d. %s", i, text)}, nil)
		s.once(0)
	}
	s.once(0)
	var labels []label
	s.forge.call("GET", "/labels", nil, &labels)
	said := len(s.forge.comments(n))
	if said > 5 || !strings.Contains(s.forge.comments(n)[said-1].Body, "gives it again") {
		t.Fatalf("%+v", s.forge.comments(n))
	}
	s.forge.call("DELETE", fmt.Sprintf("%s/labels/%d", issue, labels[0].ID), nil, nil)
	s.forge.call("POST", issue+"/labels", map[string]any{"labels": []int64{labels[0].ID}}, nil)
	s.once(0)
	s.says(n, said+1, "the last")
}

// TestKilled: kill -9 before and after each call leaves one proposal, one directive, one
// request, and statuses of what was judged alone (FORGE-5).
func TestKilled(t *testing.T) {
	tier.Full(t, "a real Gitea, and a kill at each call")
	s := newScene(t)
	n := s.forge.issue("greet the user", body)
	if out := s.Run(s.Bare, "git-ward", "forge", "--once", "--dry-run", "--bare", s.Bare); !strings.Contains(out, "would propose issue 1") || len(s.forge.comments(n)) != 0 {
		t.Fatal(out)
	}
	kills := s.killed()
	list := s.forge.comments(n)
	if len(list) != 1 {
		t.Fatalf("%+v", list)
	}
	s.forge.comment(s.forge.lead, n, approveLine.FindString(list[0].Body))
	kills += s.killed()
	s.says(n, 3, "D-1")
	if text := s.Run(s.Bare, "git", "show", "ward:COMMS.md"); strings.Count(text, "\n### D-") != 1 {
		t.Fatal(text)
	}
	u := s.begin("D-1")
	commit := u.claims("greet.sh", "echo \"Hello, $1.\"\n")
	kills += s.killed()
	u.verdict(loop.Exact)
	kills += s.killed()
	pull := s.forge.pulls()
	if list := s.forge.statuses(commit); len(pull) != 1 || len(list) != 2 || list[0].Status != "success" {
		t.Fatalf("%+v %+v", pull, list)
	}
	s.forge.comment(s.forge.lead, pull[0].Number, "/ward clarify greet in French, too")
	kills += s.killed()
	s.says(pull[0].Number, 2, "clarify D-1: done.")
	if log := s.Run(s.Bare, "git", "log", "-p", "refs/ward/uow/D-1.1"); strings.Count(log, `+  "note": "greet in French, too"`)+strings.Count(log, `"note":"greet in French, too"`) != 1 {
		t.Fatal(log)
	}
	if refs := s.Run(s.Bare, "git", "for-each-ref", "refs/ward/forge/intent"); refs != "" || kills < 4*7 {
		t.Fatalf("%d kills, and intents left: %s", kills, refs)
	}
	s.Fsck()
}
