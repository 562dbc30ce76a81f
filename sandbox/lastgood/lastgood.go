// Package lastgood moves refs/ward/last-good, the commit of main that last started
// well, when the watcher in the fence says so (BOOT-2).
package lastgood

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"git-ward/internal/git"
	"git-ward/protocols/boot"
)

// Writer passes on what comes out of the fence, but for the lines in which
// the watcher says which commit of main has started: those move the ref. It is safe
// for use by several writers.
type Writer struct {
	out  io.Writer
	move func(commit string) error

	mu    sync.Mutex
	line  []byte // the beginning of a line that may be one of them
	plain bool   // the rest of the present line is not
}

// NewWriter passes all other bytes on to out, and calls move for every commit that is
// said to have started.
func NewWriter(out io.Writer, move func(commit string) error) *Writer {
	return &Writer{out: out, move: move}
}

// maxBooted is longer than any such line.
const maxBooted = len(boot.Booted) + 64

// Write passes bytes on as soon as they are known to be other lines'.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var pass []byte
	for _, c := range p {
		end := c == '\n'
		if w.plain {
			pass = append(pass, c)
			w.plain = !end
			continue
		}
		w.line = append(w.line, c)
		if end && bytes.HasPrefix(w.line, []byte(boot.Booted)) {
			if err := w.move(string(bytes.TrimSpace(w.line[len(boot.Booted):]))); err != nil {
				pass = fmt.Appendf(pass, "ward: "+Ref+" is not moved: %v\n", err)
			}
			w.line = w.line[:0]
		} else if end || !w.mayBe() || len(w.line) > maxBooted {
			pass = append(pass, w.line...)
			w.line, w.plain = w.line[:0], !end
		}
	}
	if len(pass) > 0 {
		if _, err := w.out.Write(pass); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// mayBe reports whether the line so far can still become one of the watcher's.
func (w *Writer) mayBe() bool {
	n := min(len(w.line), len(boot.Booted))
	return string(w.line[:n]) == boot.Booted[:n]
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
