package store

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"git-ward/internal/git"
	"git-ward/protocols/loop"
)

// TestVerdictWhereItLies: who waits for a verdict hears of it, past those of others, and no
// ref of its clones moves: nothing is fetched.
func TestVerdictWhereItLies(t *testing.T) {
	s := newStore(t)
	if _, err := s.Main(t.Context()); err != nil {
		t.Fatal(err)
	}
	refs := s.main.must(t, "for-each-ref")
	commit := run(t, s.Bare, "", "rev-parse", "main")
	judge := func(claim string) {
		line, err := json.Marshal(loop.Verdict{Commit: commit, Claim: claim, Unit: "D-1.1", Verdict: loop.None})
		if err == nil {
			err = git.Open(s.Bare).AppendNote(t.Context(), loop.VerdictsRef, commit, line)
		}
		if err != nil {
			t.Error(err)
		}
	}
	mine := strings.Repeat("b", 64)
	if v, err := s.Verdict(t.Context(), commit, mine); v != nil || err != nil {
		t.Errorf("%+v, %v", v, err)
	}
	judge(strings.Repeat("a", 64))
	if v, err := s.Verdict(t.Context(), commit, mine); v != nil || err != nil {
		t.Errorf("%+v, %v", v, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	go judge(mine)
	v, err := s.AwaitVerdict(ctx, commit, mine, time.Minute, func(*loop.Verdict) bool { return true })
	if err != nil || v == nil || v.Claim != mine {
		t.Fatalf("%+v, %v", v, err)
	}
	if now := s.main.must(t, "for-each-ref"); now != refs {
		t.Errorf("refs moved: %s\nand were %s", now, refs)
	}
}
