package gittest

import (
	"strings"
	"testing"
)

// The recorded repository is what its comment says: an open unit that stands at a claim
// without verdict, and others that wait for the PM.
func TestRecorded(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in the quick tier: it builds Ward's programs")
	}
	p := Recorded(t)
	for unit, want := range map[string]string{"D-1.1": "ARCHIVED", "D-2.1": "ACTIVE", "D-3.1": "ARCHIVED", "D-4.1": "ZOMBIED_SOFT"} {
		if journal := p.Run(p.Bare, "git", "show", "refs/ward/uow/"+unit+":uow.json"); !strings.Contains(journal, `"state":"`+want+`"`) {
			t.Error(journal)
		}
		p.Run(p.Bare, "git", "rev-parse", "--verify", "refs/ward/record/"+unit)
	}
	claimed := strings.TrimSpace(p.Run(p.Bare, "git", "rev-parse", "refs/heads/agent/D-2"))
	if out, err := p.Try(p.Bare, nil, "", "git", "notes", "--ref=certificates", "show", claimed); err == nil {
		t.Error("judged already:", out)
	}
	p.Run(p.Bare, "git", "fsck", "--strict", "--no-dangling")
}
