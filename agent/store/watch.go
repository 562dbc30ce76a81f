package store

import (
	"context"
	"time"

	"git-ward/internal/git"
	"git-ward/protocols/uow"
)

// lookEvery is how often Wait looks: a PM's push is seen within a second (AGT-6).
const lookEvery = 500 * time.Millisecond

// Mark is how the remote's control branch, the project's and the journals of units looked
// at some moment.
type Mark [3]git.Mark

// Mark looks at them on disk. Take it before reading them: what is pushed in between is
// then seen.
func (s *Store) Mark() Mark {
	bare := git.Open(s.Bare)
	return Mark{bare.Mark(s.Control.Ref()), bare.Mark(s.Control.ProjectRef()), bare.Mark(uow.RefPrefix)}
}

// branches is the part of a mark that snapshots depend on.
func (m Mark) branches() [2]git.Mark { return [2]git.Mark(m[:2]) }

// Wait returns when one of them may have moved since the mark, when moved says so, or after
// limit. A few calls of stat twice a second are cheaper than any child.
func (s *Store) Wait(ctx context.Context, since Mark, limit time.Duration, moved func() bool) error {
	end := time.NewTimer(limit)
	defer end.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for s.Mark() == since && !moved() {
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
