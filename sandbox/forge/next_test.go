package forge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"git-ward/internal/tier"
	"git-ward/protocols/loop"
)

// ready is a scene whose D-1 is proved, its request ready, and the commit that was judged.
func ready(t *testing.T) (*scene, *unit, string) {
	t.Helper()
	s, _, u := begun(t)
	commit := u.claims("greet.sh", "echo \"Hello, $1.\"\n")
	u.verdict(loop.Exact)
	u.step("LOOP_CONVERGED", uowComplete)
	u.push()
	s.once(0)
	s.stands(commit, "success", "EXACT")
	return s, u, commit
}

// stands expects the newest status of a commit.
func (s *scene) stands(commit, word, says string) {
	s.T.Helper()
	if list := s.forge.statuses(commit); len(list) == 0 || list[0].Status != word || !strings.Contains(list[0].Description, says) {
		s.T.Fatalf("want %s with %q: %+v", word, says, list)
	}
}

// edit changes COMMS.md as the PM.
func (s *scene) edit(old, text string) {
	s.T.Helper()
	s.Run(s.control, "git", "pull", "--quiet")
	file := filepath.Join(s.control, "COMMS.md")
	data, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, regexp.MustCompile(old).ReplaceAll(data, []byte(text)), 0o600)
	}
	if err != nil {
		s.T.Fatal(err)
	}
	s.Run(s.control, "git", "commit", "--quiet", "--all", "--message", "another text")
	s.Run(s.control, "git", "push", "--quiet")
}

// TestNextUnit: a unit that begins after a proof takes the success back while it has claimed
// nothing, its request hears what is said there, and a directive that is gone from COMMS.md has no
// success (FORGE-3, FORGE-4).
func TestNextUnit(t *testing.T) {
	tier.Full(t, "a real Gitea")
	s, _, commit := ready(t)
	pull := s.forge.pulls()[0].Number
	s.forge.comment(s.forge.lead, pull, "/ward clarify greet in French, too")
	s.once(0)
	s.says(pull, 2, "clarify D-1: done.")
	s.once(0)
	s.stands(commit, "pending", "nothing is claimed yet")
	if p := s.forge.pulls()[0]; !p.Draft {
		t.Fatalf("what is not done is ready: %+v", p)
	}
	s.forge.comment(s.forge.lead, pull, "/ward pause")
	s.once(0)
	s.says(pull, 4, "pause D-1: done.")
	s.forge.comment(s.forge.lead, pull, "/ward resume")
	s.once(0)
	s.forge.call("PATCH", fmt.Sprintf("/pulls/%d", pull), map[string]any{"state": "closed"}, nil)
	s.once(0)
	s.says(pull, 7, "D-1.2 is paused, because this request was closed")
	s.forge.call("PATCH", fmt.Sprintf("/pulls/%d", pull), map[string]any{"state": "open"}, nil)
	s.forge.comment(s.forge.lead, pull, "/ward resume")
	s.once(0)
	s.forge.call("PATCH", fmt.Sprintf("/pulls/%d", pull), map[string]any{"state": "closed"}, nil)
	s.once(0)
	s.says(pull, 10, "D-1.2 is paused, because this request was closed") // once more, and so said once more
	s.forge.call("PATCH", fmt.Sprintf("/pulls/%d", pull), map[string]any{"state": "open"}, nil)
	s.edit(`(?s)### D-1: .*?(\n#|$)`, "$1")
	s.once(0)
	s.stands(commit, "error", "no longer listed")
}

// people adds a commit to the request, as somebody else would.
func (s *scene) people(on, name string) (head string) {
	s.T.Helper()
	s.Git("fetch", "--quiet", "origin")
	s.Git("checkout", "--quiet", "-B", "more", on)
	s.Write(name, "by people\n")
	s.Git("add", name)
	s.Git("commit", "--quiet", "--message", "more")
	bot := strings.Replace(s.forge.url, "://", "://"+s.forge.bot.Login+":"+s.forge.bot.Token+"@", 1)
	s.Git("push", "--quiet", bot+"/"+s.forge.bot.Login+"/p.git", "HEAD:agent/D-1")
	return strings.TrimSpace(s.Git("rev-parse", "HEAD"))
}

// TestTakeTwice: after a merge, what is claimed next gets a request of its own, and take merges
// that one and no other (FORGE-1, FORGE-4).
func TestTakeTwice(t *testing.T) {
	tier.Full(t, "a real Gitea")
	s, u, commit := ready(t)
	refused := func(says string, args ...string) {
		t.Helper()
		out, err := s.Try(s.Bare, nil, "", "git-ward", append([]string{"take", "--bare", s.Bare}, args...)...)
		if err == nil || !strings.Contains(out, says) {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	refused("there is no such directive", "D-99")
	refused("what is proved is "+commit[:12]+", and not abc1234", "D-1", "abc1234")
	s.Run(s.Bare, "git-ward", "take", "--bare", s.Bare, "D-1")
	s.edit(`Say hello`, "Say hello, and salut,")
	next := s.goOn("D-1", 2, u.last)
	again := next.claims("salut.sh", "echo \"Salut, $1.\"\n")
	next.verdict(loop.Exact)
	next.step("LOOP_CONVERGED", uowComplete)
	next.push()
	refused("there is no request for it on the forge yet", "D-1")
	s.once(0)
	pulls := s.forge.pulls()
	if len(pulls) != 2 || pulls[0].Head.Sha != again || again == commit {
		t.Fatalf("%+v", pulls)
	}
	s.stands(again, "success", "EXACT")
	s.Run(s.Bare, "git-ward", "take", "--bare", s.Bare, "D-1")
	if p := s.forge.pulls()[0]; !p.Merged || p.MergeCommit != s.at("main") {
		t.Fatalf("%+v", p)
	}
}

// TestOtherTree: a squash of the judged commit with somebody's on top is no take; it is named in
// each look (FORGE-4).
func TestOtherTree(t *testing.T) {
	tier.Full(t, "a real Gitea")
	s, _, commit := ready(t)
	head := s.people(commit, "more")
	s.once(0)
	s.stands(head, "pending", "by people")
	pull := s.forge.pulls()[0].Number
	s.forge.call("PATCH", fmt.Sprintf("/pulls/%d", pull), map[string]any{"title": "D-1: greet the user"}, nil) // no draft
	s.forge.merge(t, pull, head)
	for range 2 {
		if out := s.once(1); !strings.Contains(out, "was merged as another tree than the judged one") {
			t.Fatal(out)
		}
	}
	if out, err := s.Try(s.Bare, nil, "", "git", "rev-parse", "--verify", "--quiet", "refs/ward/forge/taken/"+commit); err == nil {
		t.Fatal(out)
	}
}

// TestForgeOwns: nobody but the forge moves the project's branch, but for a PM who lets in what
// the last look stopped (FORGE-1).
func TestForgeOwns(t *testing.T) {
	tier.Full(t, "a real Gitea")
	s := newScene(t)
	s.once(0)
	s.Git("checkout", "--quiet", "main")
	s.Commit("direct", "not by the forge\n")
	if out, err := s.Push("HEAD:main"); err == nil || !strings.Contains(out, "a forge owns main") {
		t.Fatalf("%v: %s", err, out)
	}
	s.Git("push", "--quiet", s.forge.clone(), "HEAD:main")
	s.once(0) // by the forge it comes
	s.Git("checkout", "--quiet", "--orphan", "other")
	s.Git("commit", "--quiet", "--message", "another history")
	s.Git("push", "--quiet", "--force", s.forge.clone(), "HEAD:main")
	s.once(1)
	if out, err := s.Push("--force", "HEAD:main"); err != nil {
		t.Fatal(out)
	}
	s.once(0)
	if s.at("main") != strings.TrimSpace(s.Git("rev-parse", "HEAD")) {
		t.Fatal(s.at("main"))
	}
}

// TestClosedBetween: a request that a killed pass opened, and that somebody closed before the next
// look, is that directive's, and no second one is opened (FORGE-5).
func TestClosedBetween(t *testing.T) {
	tier.Full(t, "a real Gitea, and a kill")
	s, _, u := begun(t)
	u.claims("greet.sh", "echo \"Hello, $1.\"\n")
	// The fork, the push, and the request.
	if out, err := s.Try(s.Bare, []string{"WARD_FAILPOINT=forge/made#3=kill"}, "", "git-ward", "forge", "--once", "--bare", s.Bare); err == nil || len(s.forge.pulls()) != 1 {
		t.Fatal(out)
	}
	pull := s.forge.pulls()[0].Number
	s.forge.call("PATCH", fmt.Sprintf("/pulls/%d", pull), map[string]any{"state": "closed"}, nil)
	s.once(0)
	s.says(pull, 1, "D-1.1 is paused, because this request was closed")
	if list := s.forge.pulls(); len(list) != 1 {
		t.Fatalf("%+v", list)
	}
}
