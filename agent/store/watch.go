package store

import (
	"context"
	"time"

	"git-ward/internal/git"
)

// lookEvery is how often Wait looks: a PM's push is seen within a second (AGT-6).
const lookEvery = 500 * time.Millisecond

// Mark is how the remote's control branch and the project's looked at some moment.
type Mark [2]git.Mark

// Mark looks at both on disk. Take it before reading them: what is pushed in between is
// then seen.
func (s *Store) Mark() Mark {
	bare := git.Open(s.Bare)
	return Mark{bare.Mark(s.Control.Ref()), bare.Mark(s.Control.ProjectRef())}
}

// Wait returns when one of them may have moved since the mark, or after limit. Two calls
// of stat twice a second are cheaper than any child.
func (s *Store) Wait(ctx context.Context, since Mark, limit time.Duration) error {
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
