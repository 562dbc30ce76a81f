package hooks_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/hooks/audit"
	"git-ward/hooks/push"
	"git-ward/internal/git"
)

// TestRefusalsOfAnHour: an agent whose refusals all differ fills so many records an hour,
// of so many refs each, and is only counted then; a PM's are all recorded.
func TestRefusalsOfAnHour(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	repo := git.Open(p.Bare)
	refuse := func(principal push.Principal, n int) {
		t.Helper()
		batch := repo.Batch(t.Context())
		defer batch.Close()
		r := &audit.Record{Time: time.Now().UTC().Truncate(time.Millisecond), Principal: string(principal), User: "1", Push: fmt.Sprintf("%s-%d", principal, n), Verdict: audit.Refused, Rules: []string{"refs/name"}}
		for i := range 100 {
			r.Refs = append(r.Refs, audit.Ref{Update: push.Update{Ref: fmt.Sprintf("refs/heads/%d/%d/%s", n, i, strings.Repeat("x", 200)), Old: git.Zero, New: git.Zero}})
		}
		if err := audit.Refuse(t.Context(), repo, batch, r); err != nil {
			t.Fatal(err)
		}
	}
	// The hour is nearly used up.
	path := filepath.Join(p.Bare, "ward/refusals.hour")
	if err := os.WriteFile(path, fmt.Appendf(nil, "%d 295\n", time.Now().UTC().Truncate(time.Hour).Unix()), 0o600); err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		refuse(push.Agent, n)
	}
	refuse(push.PM, 0)
	batch := repo.Batch(t.Context())
	defer batch.Close()
	chain, err := audit.ReadChain(t.Context(), repo, batch)
	if err != nil {
		t.Fatal(err)
	}
	recorded, refs := 0, 0
	for _, l := range chain {
		if l.Principal == string(push.Agent) {
			recorded++
			refs = max(refs, len(l.Refs))
		}
	}
	last := chain[len(chain)-1]
	if recorded != 5 || refs != 16 || last.Principal != string(push.PM) || last.Repeats != 15 || len(last.Refs) != 100 {
		t.Errorf("%d refusals recorded of at most %d refs; then %s with %d refs, after %d more", recorded, refs, last.Principal, len(last.Refs), last.Repeats)
	}
	p.Fsck()
}

// TestEndedOnce: a push that its hook has recorded, and that the door ends after that, is
// recorded once, whoever pushed meanwhile; one that came to no hook is.
func TestEndedOnce(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	for _, branch := range []string{"agent/x", "agent/y"} {
		p.Git("switch", "--quiet", "--create", branch)
		p.Commit("f", branch)
		if out, err := p.AgentPush("HEAD"); err != nil {
			t.Fatal(err, out)
		}
	}
	repo := git.Open(p.Bare)
	batch := repo.Batch(t.Context())
	defer batch.Close()
	chain, err := audit.ReadChain(t.Context(), repo, batch)
	if err != nil || len(chain) < 2 {
		t.Fatal(chain, err)
	}
	if err := os.RemoveAll(filepath.Join(p.Bare, "ward/pending")); err != nil { // as a repository is that nobody pushed to
		t.Fatal(err)
	}
	for push, want := range map[string]int{chain[len(chain)-2].Push: 0, "door-1": 1} {
		if err := audit.RecordEnded(t.Context(), repo, batch, audit.Ended{Push: push, Principal: "agent", Rule: "limit/cpu"}); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(recordsOf(p, `"limit/cpu"`), push); n != want {
			t.Errorf("%s is recorded %d times as ended at a bound", push, n)
		}
	}
	p.Fsck()
}
