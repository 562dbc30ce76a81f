package forge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/loop"
)

// TestOthers: where the project wants the status on each request, one of a person's, of which no
// directive says anything, gets it, once for each head; with an agent's commits in it, it is no
// success (FORGE-3). Where the project does not want it, nothing is set.
func TestOthers(t *testing.T) {
	tier.Full(t, "a real Gitea")
	s, _, u := begun(t)
	commit := u.claims("greet.sh", "echo \"Hello, $1.\"\n")
	push := func(branch, name, from string) (head string) {
		t.Helper()
		s.Git("fetch", "--quiet", "origin")
		s.Git("checkout", "--quiet", "-B", branch, from)
		s.Write(name, "by a person\n")
		s.Git("add", name)
		s.Git("commit", "--quiet", "--message", name)
		s.Git("push", "--quiet", s.forge.clone(), "HEAD:"+branch)
		return strings.TrimSpace(s.Git("rev-parse", "HEAD"))
	}
	request := func(branch, name, from string) (head string) {
		t.Helper()
		head = push(branch, name, from)
		s.forge.call("POST", "/pulls", map[string]any{"head": branch, "base": "main", "title": name}, nil)
		return head
	}
	plain := request("plain", "typo", "origin/main")
	s.once(0)
	if list := s.forge.statuses(plain); len(list) != 0 {
		t.Fatalf("nobody asked for it: %+v", list)
	}
	s.forge.call("POST", "/branch_protections", map[string]any{"rule_name": "main", "enable_status_check": true, "status_check_contexts": []string{"ward/verdict"}}, nil)
	with := request("with", "more", commit)
	s.once(0)
	s.once(0)
	s.stands(plain, "success", "no directive")
	s.stands(with, "pending", "by an agent")
	if n, m := len(s.forge.statuses(plain)), len(s.forge.statuses(with)); n != 1 || m != 1 {
		t.Fatalf("set again: %d, %d", n, m)
	}
	s.stands(commit, "pending", "the host judges it") // whose own request has the last word on it
	again := push("plain", "another", plain)
	s.once(0)
	s.stands(again, "success", "no directive")
}

// TestRecords: notes and what is below refs/ward go to the repository that is named for it, and to
// no other; what this host alone needs stays (FORGE-1).
func TestRecords(t *testing.T) {
	tier.Full(t, "a real Gitea")
	s, _, u := begun(t)
	u.claims("greet.sh", "echo \"Hello, $1.\"\n")
	u.verdict(loop.Exact)
	s.once(0)
	lists := func(name string) string {
		t.Helper()
		return s.Git("ls-remote", strings.TrimSuffix(s.forge.clone(), s.forge.name+".git")+name+".git")
	}
	if out := lists(s.forge.name); strings.Contains(out, "refs/ward") || strings.Contains(out, "refs/notes") {
		t.Fatal(out)
	}
	s.forge.lead.Do("POST", "/user/repos", map[string]any{"name": "records"}, nil)
	s.forge.lead.Give("records", s.forge.bot, "write")
	to := s.forge.lead.Login + "/records"
	s.Run(s.Bare, "git-ward", "config", "--bare", s.Bare, "forge.records="+s.forge.url+"/"+to+".git")
	if out := s.Run(s.Bare, "git-ward", "forge", "--once", "--dry-run", "--bare", s.Bare); !strings.Contains(out, "would send ") || lists(to) != "" {
		t.Fatal(out)
	}
	s.once(0)
	gittest.InOrder(t, lists(to), "refs/notes/certificates", "refs/ward/audit", "refs/ward/record/D-1.1", "refs/ward/uow/D-1.1")
	if out := lists(to); strings.Contains(out, "refs/ward/forge/") || strings.Contains(out, "refs/heads/") || !strings.Contains(out, s.at("refs/ward/audit")) {
		t.Fatal(out)
	}
	if out := s.Run(s.Bare, "git-ward", "forge", "--once", "--dry-run", "--bare", s.Bare); out != "nothing is to do\n" {
		t.Fatal(out)
	}
	s.Run(s.Bare, "git-ward", "config", "--bare", s.Bare, "forge.records="+strings.Replace(s.forge.url, "://", "://bot:secret@", 1)+"/"+to)
	if out := s.once(1); !strings.Contains(out, "records does not go on at the forge") {
		t.Fatal(out)
	}
}

// TestRefusedAddresses: what the fence refused to the agent stands in the request's body, with the
// setting that would allow it (FORGE-3).
func TestRefusedAddresses(t *testing.T) {
	tier.Full(t, "a real Gitea")
	s, _, u := begun(t)
	meter := `{"version":1,"directives":{},"refused":{"D-1":[{"address":"pkg.example.com","setting":"[egress] allow"},{"address":"169.254.169.254"}],"D-2":[{"address":"other.example.com"}]}}`
	if err := os.WriteFile(filepath.Join(s.Bare, "ward/meter.json"), []byte(meter), 0o600); err != nil {
		t.Fatal(err)
	}
	u.claims("greet.sh", "echo \"Hello, $1.\"\n")
	gittest.InOrder(t, s.Run(s.Bare, "git-ward", "review", "--bare", s.Bare, "D-1"), "the fence refused pkg.example.com; [egress] allow would allow it", "the fence refused 169.254.169.254")
	s.once(0)
	said := s.forge.pulls()[0].Body
	gittest.InOrder(t, said, "**Refused by the fence**", "`pkg.example.com`: `[egress] allow` would allow it", "`169.254.169.254`")
	if strings.Contains(said, "other.example.com") {
		t.Fatal(said)
	}
}

// TestOthersHead: a commit that is the head of a directive's request has that one's status, and no
// request of a person's with the same head makes it green (FORGE-3).
func TestOthersHead(t *testing.T) {
	tier.Full(t, "a real Gitea")
	s, _, u := begun(t)
	u.claims("greet.sh", "echo \"Hello, $1.\"\n")
	s.once(0)
	number := s.forge.pulls()[0].Number
	s.forge.call("POST", "/branch_protections", map[string]any{"branch_name": "main", "enable_status_check": true, "status_check_contexts": []string{"ward/verdict"}}, nil)
	s.Git("fetch", "--quiet", "origin")
	s.Git("checkout", "--quiet", "-B", "mine", "origin/main")
	s.Write("greet.sh", "echo squashed\n")
	s.Git("add", "greet.sh")
	s.Git("commit", "--quiet", "--message", "all in one")
	head := strings.TrimSpace(s.Git("rev-parse", "HEAD"))
	bot := strings.Replace(s.forge.url, "://", "://"+s.forge.bot.Login+":"+s.forge.bot.Token+"@", 1) + "/" + s.forge.bot.Login + "/p.git"
	s.Git("push", "--quiet", "--force", bot, "HEAD:agent/D-1")
	await.True(t, "Gitea to see the push", func() bool { return s.forge.pulls()[0].Head.Sha == head })
	s.once(0)
	s.stands(head, "pending", "by people")
	s.Git("push", "--quiet", s.forge.clone(), "HEAD:mine")
	s.forge.call("POST", "/pulls", map[string]any{"head": "mine", "base": "main", "title": "mine"}, nil)
	s.once(0)
	s.stands(head, "pending", "by people")
	// Nor while the directive's request is into another branch.
	s.forge.call("POST", "/branches", map[string]any{"new_branch_name": "aside"}, nil)
	s.forge.call("PATCH", fmt.Sprintf("/pulls/%d", number), map[string]any{"base": "aside"}, nil)
	s.Git("push", "--quiet", s.forge.clone(), "HEAD:mine-too")
	s.forge.call("POST", "/pulls", map[string]any{"head": "mine-too", "base": "main", "title": "mine too"}, nil)
	s.once(0)
	s.stands(head, "pending", "by people")
	s.forge.call("PATCH", fmt.Sprintf("/pulls/%d", number), map[string]any{"base": "main"}, nil)
	s.once(0)
	s.stands(head, "pending", "by people")
	// While the directive's request is closed, the person's own says what is on that commit.
	at := fmt.Sprintf("/pulls/%d", number)
	s.forge.call("PATCH", at, map[string]any{"state": "closed"}, nil)
	s.once(0)
	s.stands(head, "success", "no directive")
	s.forge.call("PATCH", at, map[string]any{"state": "open"}, nil)
	s.once(0)
	s.stands(head, "pending", "by people")
}
