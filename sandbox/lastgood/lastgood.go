// Package lastgood moves refs/ward/last-good, the commit of main that last started
// well, when the watcher in the fence says so (BOOT-2).
package lastgood

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"git-ward/internal/git"
	"git-ward/internal/lines"
	"git-ward/protocols/boot"
)

// maxBooted is longer than any such line.
const maxBooted = len(boot.Booted) + 64

// NewWriter passes on what comes out of the fence, but for the lines in which the watcher
// says which commit of main has started: for each of those it calls move. It is safe for
// use by several writers.
func NewWriter(out io.Writer, move func(commit string) error) io.Writer {
	return lines.NewTaker(out, boot.Booted, maxBooted, func(commit []byte) []byte {
		if err := move(string(bytes.TrimSpace(commit))); err != nil {
			return fmt.Appendf(nil, "ward: "+Ref+" is not moved: %v\n", err)
		}
		return nil
	})
}

// Ref is the commit of main that last started well.
const Ref = "refs/ward/last-good"

// Move moves Ref to a commit that is said to have started.
// What comes out of the fence is not believed: it must be a commit that the own line of
// history of main holds, the full name of the project's branch (BOOT-2).
func Move(ctx context.Context, bare, main, commit string) error {
	if !git.IsID(commit) || commit == git.Zero {
		return fmt.Errorf("%.80q is no commit", commit)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	r := git.Open(bare)
	r.Limits = git.Limits{Memory: 4 << 30, Alloc: 512 << 20, CPU: time.Minute}
	for try := range 10 {
		old, err := r.Ref(ctx, Ref)
		if err != nil || old == commit {
			return err
		}
		line, err := r.Output(ctx, "rev-list", "--first-parent", "--max-count=1000000", "--end-of-options", main, "--")
		if err != nil {
			return err
		}
		if !bytes.Contains(line, []byte(commit+"\n")) {
			return fmt.Errorf("%s is not a commit of %s", commit, main)
		}
		err = r.UpdateRefs(ctx, "watcher: boot.Booted", git.RefUpdate{Ref: Ref, Old: old, New: commit})
		if !errors.Is(err, git.ErrLostRace) {
			return err
		}
		if err := git.Backoff(ctx, try); err != nil {
			return err
		}
	}
	return errors.New("it moved too often meanwhile")
}
