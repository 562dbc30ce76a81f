// Package lastgood keeps refs/ward/last-good, the commit of main whose program held last,
// those before it, and the one that gave way to one of them, when the watcher in the fence
// says so (BOOT-2).
package lastgood

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/lines"
	"git-ward/protocols/boot"
)

// maxSaid is longer than any such line.
const maxSaid = len(boot.FellBack) + 64

// NewWriter passes on what comes out of the fence, but for the lines in which the watcher
// says what became of a commit of main: for each of those of a prefix it calls do. It is
// safe for use by several writers.
func NewWriter(out io.Writer, prefix string, do func(commit string) error) io.Writer {
	return lines.NewTaker(out, prefix, maxSaid, func(commit []byte) []byte {
		if err := do(string(bytes.TrimSpace(commit))); err != nil {
			return fmt.Appendf(nil, "ward: what held is not written down: %v\n", err)
		}
		return nil
	})
}

// Book is the list in a repository, whose branches are called so.
type Book struct {
	Bare    string
	Control config.Control
}

// Held makes a commit whose program is said to have held the last good one. Another
// commit with the same program leaves the list; all others move down, the oldest out.
// Where it is what the project's branch has now, none is fallen any more.
func (b Book) Held(ctx context.Context, commit string) error {
	return b.move(ctx, commit, "watcher: held", func(r *git.Repo) ([]git.RefUpdate, error) {
		program, err := b.program(ctx, r, commit)
		if err != nil {
			return nil, err
		}
		var old [boot.MaxGood]string
		list := []string{commit}
		for i, ref := range boot.GoodRefs() {
			if old[i], err = r.Ref(ctx, ref); err != nil {
				return nil, err
			}
			other, err := b.program(ctx, r, old[i])
			if err != nil {
				return nil, err
			}
			if other != "" && other != program {
				list = append(list, old[i])
			}
		}
		var moves []git.RefUpdate
		for i, ref := range boot.GoodRefs() {
			now := git.Zero
			if i < len(list) {
				now = list[i]
			}
			if now != old[i] {
				moves = append(moves, git.RefUpdate{Ref: ref, Old: old[i], New: now})
			}
		}
		fallen, err := r.Ref(ctx, boot.Fallen)
		if err != nil || fallen == git.Zero {
			return moves, err
		}
		if tip, err := b.program(ctx, r, b.Control.ProjectRef()); err != nil || tip != program {
			return moves, err
		}
		return append(moves, git.RefUpdate{Ref: boot.Fallen, Old: fallen, New: git.Zero}), nil
	})
}

// FellBack writes down that a commit's program is said to have given way to an earlier one.
func (b Book) FellBack(ctx context.Context, commit string) error {
	return b.move(ctx, commit, "watcher: fell back", func(r *git.Repo) ([]git.RefUpdate, error) {
		old, err := r.Ref(ctx, boot.Fallen)
		if err != nil || old == commit {
			return nil, err
		}
		return []git.RefUpdate{{Ref: boot.Fallen, Old: old, New: commit}}, nil
	})
}

// program names a revision's; "" is that of none, or of one that is gone.
func (b Book) program(ctx context.Context, r *git.Repo, rev string) (string, error) {
	commit, err := r.Commit(ctx, rev)
	if err != nil {
		return "", ctx.Err()
	}
	return boot.Program(r.Tree(ctx, commit), b.Control.Split())
}

// move moves refs for what is said of a commit. What comes out of the fence is not
// believed: it must be a commit that the project's branch's own line of history holds
// (BOOT-2).
func (b Book) move(ctx context.Context, commit, reflog string, moves func(*git.Repo) ([]git.RefUpdate, error)) error {
	if !git.IsID(commit) || commit == git.Zero {
		return fmt.Errorf("%.80q is no commit", commit)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	r := git.Open(b.Bare)
	r.Limits = git.Limits{Memory: 4 << 30, Alloc: 512 << 20, CPU: time.Minute}
	for try := range 10 {
		line, err := r.Output(ctx, "rev-list", "--first-parent", "--max-count=1000000", "--end-of-options", b.Control.ProjectRef(), "--")
		if err != nil {
			return err
		}
		if !bytes.Contains(line, []byte(commit+"\n")) {
			return fmt.Errorf("%s is not a commit of %s", commit, b.Control.ProjectRef())
		}
		list, err := moves(r)
		if err != nil || len(list) == 0 {
			return err
		}
		err = r.UpdateRefs(ctx, reflog, list...)
		if !errors.Is(err, git.ErrLostRace) {
			return err
		}
		if err := git.Backoff(ctx, try); err != nil {
			return err
		}
	}
	return errors.New("it moved too often meanwhile")
}
