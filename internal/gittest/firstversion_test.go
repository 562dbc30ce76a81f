package gittest

import (
	"strings"
	"testing"
)

// The first version's repository is what its comment says: an open unit that stands at
// a claim without verdict, and papers on the work branch.
func TestFirstVersion(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in the quick tier: it builds Ward's programs")
	}
	p := FirstVersion(t)
	journal := p.Run(p.Bare, "git", "show", "refs/ward/uow/D-2.1:uow.json")
	if !strings.Contains(journal, `"state":"ACTIVE"`) || !strings.Contains(journal, `"event":"claim"`) || strings.Contains(journal, `"layout"`) {
		t.Error(journal)
	}
	claimed := strings.TrimSpace(p.Run(p.Bare, "git", "rev-parse", "refs/heads/agent/D-2"))
	if !strings.Contains(journal, claimed) {
		t.Error("the claim is not of", claimed)
	}
	if out, err := p.Try(p.Bare, nil, "", "git", "notes", "--ref=certificates", "show", claimed); err == nil {
		t.Error("judged already:", out)
	}
	if papers := p.Run(p.Bare, "git", "ls-tree", "--name-only", claimed); !strings.Contains(papers, "evidence") || !strings.Contains(papers, "LEARNINGS.md") {
		t.Error(papers)
	}
	p.Run(p.Bare, "git", "fsck", "--strict", "--no-dangling")
}
