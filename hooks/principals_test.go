package hooks_test

import (
	"path/filepath"
	"strings"
	"testing"

	"git-ward/hooks/checks"
	"git-ward/hooks/push"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
)

// judged is what the checks say to a principal's push of one ref, as text; "" when
// it passes without a word. Transports are proved elsewhere.
func judged(p *gittest.Pair, who push.Principal, ref, old, tip string) string {
	p.T.Helper()
	repo := git.Open(filepath.Join(p.Work, ".git"))
	batch := repo.Batch(p.T.Context())
	defer batch.Close()
	result, err := checks.Judge(p.T.Context(), repo, batch, &checks.Push{Principal: who, Config: config.Default(), Branches: "refs/remotes/origin/",
		Updates: []push.Update{{Ref: ref, Old: old, New: tip}}})
	if err != nil {
		p.T.Fatal(err)
	}
	var b strings.Builder
	diag.WriteText(&b, result.Findings)
	return b.String()
}

// TestRightsByPrincipal: who may move which ref (ID-2, HOOK-4, HOOK-4b).
func TestRightsByPrincipal(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	head := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	p.Git("switch", "-q", "-c", "work")
	p.Commit("file", "x")
	p.Commit(".github/x", "x")
	tip := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	all := []push.Principal{push.PM, push.Agent, push.Member, push.Watcher, ""}
	for ref, may := range map[string]string{
		"refs/heads/topic": "pm member", "refs/heads/agent/x": "pm member", "refs/heads/rescue/x": "pm member", "refs/tags/v9": "pm member", "refs/notes/mine": "pm member",
		"refs/heads/main": "pm", "refs/ward/uow/D-1.1": "", "refs/ward/other": "", "refs/ward/audit": "", "refs/notes/audit": "", "refs/replace/" + head: "", "refs/pull/1/head": "pm", "refs/tags/origin/main": "",
	} {
		for _, who := range all {
			old := git.Zero
			if ref == "refs/heads/main" {
				old = head
			}
			found := judged(p, who, ref, old, tip)
			passes := found == "" || !strings.Contains(strings.ReplaceAll(found, ": warning: ", ""), ": rights/") && !strings.Contains(found, ": ref/") && !strings.Contains(found, ": uow/")
			if want := who != "" && strings.Contains(" "+may+" ", " "+string(who)+" "); passes != want {
				t.Errorf("%s by %q: passes %v, want %v\n%s", ref, who, passes, want, found)
			}
		}
	}
	// A branch without .github is the agent's, and nobody else's but theirs.
	plain := strings.TrimSpace(p.Git("rev-parse", "HEAD~"))
	for who, want := range map[push.Principal]bool{push.PM: true, push.Agent: true, push.Member: true, push.Watcher: false} {
		if found := judged(p, who, "refs/heads/agent/x", git.Zero, plain); (found == "") != want {
			t.Errorf("%s: %s", who, found)
		}
	}
	// main cannot be deleted or rewritten by any of them.
	for _, who := range all[1:] {
		if found := judged(p, who, "refs/heads/main", head, git.Zero); !strings.Contains(found, "ref/delete-main") {
			t.Errorf("%s deletes main: %s", who, found)
		}
	}
	// A member's history may start anew, the agent's may not.
	lone := p.Object("commit", "tree "+strings.TrimSpace(p.Git("rev-parse", "HEAD~^{tree}"))+"\nauthor "+person+" 1700000000 +0000\ncommitter "+person+" 1700000000 +0000\n\nlone\n")
	if found := judged(p, push.Member, "refs/heads/lone", git.Zero, lone); found != "" {
		t.Error(found)
	}
	if found := judged(p, push.Agent, "refs/heads/agent/lone", git.Zero, lone); !strings.Contains(found, "rights/merge-base") {
		t.Error(found)
	}
}

// TestWatcherAppendsReports: and nothing else, on main, by fast-forward (HOOK-4b).
func TestWatcherAppendsReports(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	const directives = "# COMMS\n\n## Directives\n\n### D-1: one\n\n- [ ] ok (`true`)\n\n## Reports\n"
	const first, second = "\n### R-1 2026-11-21T09:00:00Z - INFO\n\nOne.\n", "\n### R-2 2026-11-21T10:00:00Z - GUARD\n\nTwo.\n"
	const question = "\n## Questions\n\n### Q-1 2026-11-21T09:00:00Z D-1\n\nWhat?\n"
	p.Commit("COMMS.md", directives+first)
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	head := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	try := func(want string, add files, parents ...string) {
		t.Helper()
		if len(parents) == 0 {
			parents = []string{head}
		}
		found := judged(p, push.Watcher, "refs/heads/main", head, rawCommit(p, add, "watcher\n\nComms-Prune: R-1", parents...))
		if (want == "") != (found == "") || !strings.Contains(found, want) {
			t.Errorf("want %q in %q", want, found)
		}
	}
	try("", files{"COMMS.md": directives + first + second})
	try("comms/watcher: the watcher appends Reports only", files{"COMMS.md": directives + first + question})
	try("comms/agent-directives", files{"COMMS.md": strings.Replace(directives, "one", "two", 1) + first + second})
	try("comms/agent-report", files{"COMMS.md": directives + strings.Replace(first, "One", "1", 1)})
	try("comms/agent-prune", files{"COMMS.md": directives + second})
	try("rights/main", files{"COMMS.md": directives + first + second, "LEARNINGS.md": "x"})
	try("rights/main", files{"evidence/x": "x"})
	try("rights/protected", files{".github/x": "x"})
	try("rights/rewrite", files{"COMMS.md": directives + second}, head+"~")
	const met = "\n### R-2 2026-11-21T10:00:00Z D-1 EXIT_CONVERGED\n\nDone.\n"
	try("comms/agent-verdict", files{"COMMS.md": directives + first + met})

	// What a later commit takes back is in main's history all the same.
	then := func(who push.Principal, want string, texts ...string) {
		t.Helper()
		tip := head
		for _, text := range texts {
			tip = rawCommit(p, files{"COMMS.md": directives + text}, "one more\n\nComms-Prune: R-2", tip)
		}
		if found := judged(p, who, "refs/heads/main", head, tip); (want == "") != (found == "") || !strings.Contains(found, want) {
			t.Errorf("%s: want %q in %q", who, want, found)
		}
	}
	said, third := strings.Replace(second, "GUARD", "INFO", 1), "\n### R-3 2026-11-21T11:00:00Z - INFO\n\nThree.\n"
	for _, who := range []push.Principal{push.Agent, push.Watcher} {
		then(who, "", first+said, first+said+third)
		then(who, "comms/agent-verdict: R-2", first+met, first+third)
		then(who, "comms/agent-verdict: R-2", first+met, first)
		then(who, "comms/agent-report", strings.Replace(first, "One", "1", 1), first+said)
		then(who, "comms/", first+"\n### R-2 nonsense\n", first+said)
	}
	many := make([]string, 102)
	for i := range many {
		many[i] = first + strings.Replace(said, "Two", strings.Repeat("x", i%2+1), 1)
	}
	then(push.Agent, "more than 100 commits of one push change it", many...)

	// Only the watcher speaks as the watcher (its reports are what it believes of itself).
	then(push.Watcher, "", first+second)
	then(push.Agent, "comms/agent-status: R-2 says GUARD, which only the watcher reports", first+second)
	branch := rawCommit(p, files{"COMMS.md": directives + first + second}, "on a branch", head)
	if found := judged(p, push.Agent, "refs/heads/agent/D-1", strings.Repeat("0", 40), branch); !strings.Contains(found, "comms/agent-status") {
		t.Error(found)
	}
}
