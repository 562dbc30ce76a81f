package lastgood

import (
	"context"
	"fmt"
	"strings"

	"git-ward/internal/git"
	"git-ward/protocols/boot"
)

// RolledBack pins the target of a reported rollback. The report has main's commit, a blank, and the
// commit that runs. Both must have been main's tip: a program from a branch, which nobody has tried, or
// one that was given up, is pinned for its own container only. If main has another program by now,
// nothing is pinned.
func (b Book) RolledBack(ctx context.Context, said string) error {
	from, to, _ := strings.Cut(said, " ")
	if !git.IsID(from) {
		return fmt.Errorf("%.80q is no commit", from)
	}
	return b.move(ctx, to, "watcher: rolled back", b.onProject, func(ctx context.Context, r *git.Repo) ([]git.RefUpdate, error) {
		if err := b.onProject(ctx, r, from); err != nil {
			return nil, err
		}
		program, _, err := b.fallen(ctx, r, to)
		if err != nil || program == "" {
			return nil, err
		}
		left, err := b.program(ctx, r, from)
		if err != nil || left == program {
			return nil, err
		}
		if tip, err := b.program(ctx, r, b.Control.ProjectRef()); err != nil || tip != left {
			return nil, err
		}
		oldFrom, oldTo, err := pins(ctx, r)
		return moved(oldFrom, from, oldTo, to), err
	})
}

// pins returns the values of both pins, git.Zero for none.
func pins(ctx context.Context, r *git.Repo) (from, to string, err error) {
	if from, err = r.Ref(ctx, boot.PinFrom); err == nil {
		to, err = r.Ref(ctx, boot.PinTo)
	}
	return from, to, err
}

// Unpinned removes the pins if the pinned program is reported not to work.
func (b Book) Unpinned(ctx context.Context, commit string) error {
	return b.unpin(ctx, "watcher: leaves the rollback", func(_ *git.Repo, _, to string) (bool, error) { return to == commit, nil })
}

// Moved removes the pins if main has another program than when they were made.
func (b Book) Moved(ctx context.Context) error {
	return b.unpin(ctx, "launch: main has moved", func(r *git.Repo, from, _ string) (bool, error) {
		was, err := b.program(ctx, r, from)
		if err != nil {
			return false, err
		}
		now, err := b.program(ctx, r, b.Control.ProjectRef())
		return now != was, err
	})
}

// unpin removes both pins if is says so.
func (b Book) unpin(ctx context.Context, reflog string, is func(r *git.Repo, from, to string) (bool, error)) error {
	r := git.Open(b.Bare)
	return git.Update(ctx, git.Race{What: boot.PinTo}, func() (bool, error) {
		from, to, err := pins(ctx, r)
		if err != nil || from == git.Zero && to == git.Zero {
			return true, err
		}
		if so, err := is(r, from, to); err != nil || !so {
			return true, err
		}
		return git.Swapped(r.UpdateRefs(ctx, reflog, moved(from, git.Zero, to, git.Zero)...))
	})
}

// moved updates both pins from their old values to new ones.
func moved(from, newFrom, to, newTo string) (moves []git.RefUpdate) {
	for _, m := range []git.RefUpdate{{Ref: boot.PinFrom, Old: from, New: newFrom}, {Ref: boot.PinTo, Old: to, New: newTo}} {
		if m.Old != m.New {
			moves = append(moves, m)
		}
	}
	return moves
}
