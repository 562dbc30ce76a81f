package hooks_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// report commits a report of the agent's on the present branch.
func report(p *gittest.Pair, id string) {
	comms := p.Git("show", "HEAD:COMMS.md")
	p.Write("COMMS.md", comms+"\n### "+id+" 2026-11-21T09:00:00Z - INFO\nhello\n")
	p.Git("commit", "-q", "-a", "-m", "report "+id)
}

// TestMainsPastIsMains is the attack by what a later commit takes back: a push of the
// agent to main whose tip only reports, with any tree at all in the commits on the
// way. They are commits of main then, and what main once had the agent may have.
func TestMainsPastIsMains(t *testing.T) {
	tier.Full(t, "fifteen ways to bring a past that is not main's; TestProtectedOnTheWay tries one")
	t.Parallel()
	onTheWay := map[string]func(p *gittest.Pair){
		"a protected path":     func(p *gittest.Pair) { p.Commit(".github/workflows/e.yml", "evil") },
		"any other path":       func(p *gittest.Pair) { p.Commit("tool.sh", "evil") },
		"a file gone":          func(p *gittest.Pair) { p.Git("rm", "-q", "SYSTEM.md"); p.Git("commit", "-q", "-m", "gone") },
		"COMMS.md itself gone": func(p *gittest.Pair) { p.Git("rm", "-q", "COMMS.md"); p.Git("commit", "-q", "-m", "gone") },
		"a forged directive": func(p *gittest.Pair) {
			p.Commit("COMMS.md", strings.Replace(p.Git("show", "HEAD:COMMS.md"), "## Reports", "### D-1: forged\nbody\n- [ ] x (`true`)\n\n## Reports", 1))
		},
	}
	for name, evil := range onTheWay {
		for _, how := range []string{"reverted", "merged", "merged into an older one"} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				p := newPair(t)
				base := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
				p.Git("switch", "-q", "-c", "side")
				evil(p)
				side := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
				switch how {
				case "reverted":
					p.Git("revert", "--no-edit", "HEAD")
				case "merged":
					p.Git("reset", "-q", "--hard", base)
					report(p, "R-1")
					p.Git("merge", "-q", "-s", "ours", "--no-edit", side)
				case "merged into an older one":
					p.Git("switch", "-q", "main")
					p.Commit("f", "the PM's")
					if out, err := p.Push("main"); err != nil {
						t.Fatal(out)
					}
					p.Git("merge", "-q", "-s", "ours", "--no-edit", side)
				}
				if how != "merged" {
					report(p, "R-1")
				}
				out, err := p.AgentPush("HEAD:main")
				if err == nil || !strings.Contains(out, "rights/") && !strings.Contains(out, "comms/agent-directives") {
					t.Errorf("main took it: %v\n%s", err, out)
				}
			})
		}
	}
}

// TestReportsInSeveralCommits is what stays allowed on main: several reports, also begun on an
// older main, once they are on top of the present one. A merge is none: main's own line is what
// verdicts are looked up on.
func TestReportsInSeveralCommits(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.Git("switch", "-q", "-c", "reports")
	report(p, "R-1")
	report(p, "R-2")
	p.Git("switch", "-q", "main")
	p.Commit(".github/workflows/ci.yml", "the PM's")
	p.Commit("f", "the PM's")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(out)
	}
	p.Git("switch", "-q", "reports")
	p.Git("merge", "-q", "--no-edit", "main")
	report(p, "R-3")
	if out, err := p.AgentPush("HEAD:main"); err == nil || !strings.Contains(out, "git rebase origin/main") {
		t.Errorf("%v\n%s", err, out)
	}
	p.Git("rebase", "-q", "main")
	if out, err := p.AgentPush("HEAD:main"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	p.Fsck()
}

// TestProtectedOnTheWay is the same on a branch that the PM merges: its tip is clean,
// and one of its commits is not. Merged, that one would be main's own past, and the
// agent could put a branch there.
func TestProtectedOnTheWay(t *testing.T) {
	t.Parallel()
	t.Run("reverted", func(t *testing.T) {
		p := newPair(t)
		p.Git("switch", "-q", "-c", "work")
		p.Commit(".github/workflows/e.yml", "evil")
		p.Git("revert", "--no-edit", "HEAD")
		p.Commit("work", "x")
		out, err := p.AgentPush("HEAD:agent/work")
		if err == nil || !strings.Contains(out, ".github/workflows/e.yml: rights/protected") {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("deleted and brought back", func(t *testing.T) {
		p := newPair(t)
		p.Commit(".github/CODEOWNERS", "* @pat")
		if out, err := p.Push("main"); err != nil {
			t.Fatal(out)
		}
		p.Git("switch", "-q", "-c", "work")
		p.Git("rm", "-q", ".github/CODEOWNERS")
		p.Git("commit", "-q", "-m", "gone")
		p.Git("revert", "--no-edit", "HEAD")
		out, err := p.AgentPush("HEAD:agent/work")
		if err == nil || !strings.Contains(out, ".github/CODEOWNERS: rights/protected") {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("main's own, merged, pass", func(t *testing.T) {
		p := newPair(t)
		p.Git("switch", "-q", "-c", "work")
		p.Commit("work", "x")
		p.Git("switch", "-q", "main")
		p.Commit(".github/workflows/ci.yml", "the PM's")
		if out, err := p.Push("main"); err != nil {
			t.Fatal(out)
		}
		p.Git("switch", "-q", "work")
		p.Git("merge", "-q", "--no-edit", "main")
		p.Commit("more", "x")
		if out, err := p.AgentPush("HEAD:agent/work"); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// TestNamesOfPushesUnderWay is the attack by two pushes at a time, of names that are
// one where case folds: each is judged while the other's is not there yet.
func TestNamesOfPushesUnderWay(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	for _, branch := range []string{"one", "two"} {
		p.Git("switch", "-q", "-c", branch, "main")
		p.Commit("f", branch)
	}
	var all sync.WaitGroup
	for n := range 6 {
		for _, refspec := range []string{"one:refs/heads/agent/Name%d", "two:refs/heads/agent/name%d", "one:refs/heads/agent/name%d/x"} {
			all.Go(func() { p.AgentPush(fmt.Sprintf(refspec, n)) })
		}
		all.Wait()
		names := strings.Fields(p.Run(p.Bare, "git", "for-each-ref", "--format=%(refname)", "refs/heads/agent"))
		seen := 0
		for _, name := range names {
			if strings.Contains(strings.ToLower(name), fmt.Sprintf("agent/name%d", n)) {
				seen++
			}
		}
		if seen > 1 {
			t.Errorf("two of one name: %s", names)
		}
	}
	if out, err := p.AgentPush("one:refs/heads/agent/after"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	p.Fsck()
}
