package hooks_test

import (
	"cmp"
	"fmt"
	"maps"
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
// of so many refs each, and is only counted then; the next record says how many were. It
// takes no record from another agent, and a PM's refusals are all recorded.
func TestRefusalsOfAnHour(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	repo := git.Open(p.Bare)
	now := time.Now().UTC().Truncate(time.Millisecond) // of all, or another hour begins between them
	pushes := 0
	refuse := func(principal push.Principal, name string) {
		t.Helper()
		batch := repo.Batch(t.Context())
		defer batch.Close()
		pushes++
		r := &audit.Record{Time: now, Principal: string(principal), Name: name, User: "1", Push: fmt.Sprintf("push-%d", pushes), Verdict: audit.Refused, Rules: []string{"refs/name"}}
		for i := range 100 {
			r.Refs = append(r.Refs, audit.Ref{Update: push.Update{Ref: fmt.Sprintf("refs/heads/%d/%d/%s", pushes, i, strings.Repeat("x", 200)), Old: git.Zero, New: git.Zero}})
		}
		if err := audit.Refuse(t.Context(), repo, batch, r); err != nil {
			t.Fatal(err)
		}
	}
	// The hour of one agent is nearly used up.
	text := fmt.Appendf(nil, "%d 1\nagent:D-1 295 0\nagent:bob 299 0\n", now.Truncate(time.Hour).Unix())
	if err := os.WriteFile(filepath.Join(p.Bare, "ward/refusals.hour"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, lease := range []string{".0123456789abcdef", ".fedcba9876543210"} { // a new lease begins no new hour
		for range 10 {
			refuse(push.Agent, "D-1"+lease)
		}
	}
	for range 3 {
		refuse(push.Agent, "D-2.0123456789abcdef")
		refuse(push.Agent, "D-1.0123456789abcdef")
		refuse(push.Agent, "bob")
		refuse(push.Agent, "")
		refuse(push.Watcher, "")
	}
	refuse(push.PM, "alice")
	batch := repo.Batch(t.Context())
	defer batch.Close()
	chain, err := audit.ReadChain(t.Context(), repo, batch)
	if err != nil {
		t.Fatal(err)
	}
	recorded, refs, beyond := map[string]int{}, map[string]int{}, map[string]int{}
	for _, l := range chain {
		who := l.Principal + ":" + cmp.Or(l.Worker(), l.Name)
		if l.Verdict == audit.Refused {
			recorded[who]++
			refs[who] = max(refs[who], len(l.Refs))
		}
		for who, n := range l.Beyond {
			beyond[who] += n
		}
	}
	if want := map[string]int{"agent:D-1": 5, "agent:D-2": 3, "agent:bob": 1, "agent:": 3, "watcher:": 3, "pm:alice": 1}; !maps.Equal(recorded, want) {
		t.Errorf("recorded are %v, not %v", recorded, want)
	}
	if want := map[string]int{"agent:D-1": 18, "agent:bob": 2}; !maps.Equal(beyond, want) {
		t.Errorf("counted are %v, not %v", beyond, want)
	}
	if want := map[string]int{"agent:D-1": 16, "agent:D-2": 16, "agent:bob": 16, "agent:": 16, "watcher:": 16, "pm:alice": 100}; !maps.Equal(refs, want) {
		t.Errorf("at most so many refs are named: %v, not %v", refs, want)
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
