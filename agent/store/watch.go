package store

import (
	"context"
	"time"

	"git-ward/internal/git"
)

// lookEvery is how often Wait looks: a PM's push is seen within a second (AGT-6).
const lookEvery = 500 * time.Millisecond

// Mark is how the remote's main looked at some moment, on disk. Take it before
// reading main: what is pushed in between is then seen.
func (s *Store) Mark() git.Mark { return git.Open(s.Bare).Mark("refs/heads/main") }

// Wait returns when main may have moved since the mark, or after limit. Two calls
// of stat twice a second are cheaper than any child.
func (s *Store) Wait(ctx context.Context, since git.Mark, limit time.Duration) error {
	end := time.NewTimer(limit)
	defer end.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for s.Mark() == since {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end.C:
			return nil
		case <-look.C:
		}
	}
	return ctx.Err()
}
