package store

import (
	"context"
	"time"

	"git-ward/internal/git"
	"git-ward/protocols/loop"
	"git-ward/protocols/state"
)

// Verdict is the host's verdict on a claim, by the hash of its record; nil while
// there is none. It is read where it lies: those who wait look again at each verdict of
// anybody's.
func (s *Store) Verdict(ctx context.Context, commit, claim string) (*loop.Verdict, error) {
	reader := git.Open(s.Bare).Reader(ctx)
	defer reader.Close()
	return state.Answer(reader, commit, claim)
}

// AwaitVerdict waits for the host's verdict on a claim that is one of those wanted, at most
// for patience; nil when there is none by then. The verifier may take its time, so stat looks first
// and git only where a ref moved.
func (s *Store) AwaitVerdict(ctx context.Context, commit, claim string, patience time.Duration, wanted func(*loop.Verdict) bool) (*loop.Verdict, error) {
	end := time.Now().Add(patience)
	for watch := git.Open(s.Bare).Watch(loop.VerdictsRef); ; {
		if v, err := s.Verdict(ctx, commit, claim); err != nil || v != nil && wanted(v) {
			return v, err
		}
		if moved, err := watch.Wait(ctx, LookEvery/4, end, nil); !moved || err != nil {
			return nil, err
		}
	}
}
