package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"git-ward/internal/git"
)

// booted begins the watcher's line about a commit of main that has started; the
// room bootstrap has the same words, and a test holds both together.
const booted = "ward-watcher: booted "

// bootedLines passes on what comes out of the fence, but for the lines in which
// the watcher says which commit of main has started: those move a ref.
type bootedLines struct {
	out  io.Writer
	move func(commit string) error

	mu    sync.Mutex
	line  []byte // the beginning of a line that may be one of them
	plain bool   // the rest of the present line is not
}

// maxBooted is longer than any such line.
const maxBooted = len(booted) + 64

// Write passes bytes on as soon as they are known to be other lines'.
func (b *bootedLines) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var pass []byte
	for _, c := range p {
		end := c == '\n'
		if b.plain {
			pass = append(pass, c)
			b.plain = !end
			continue
		}
		b.line = append(b.line, c)
		if end && bytes.HasPrefix(b.line, []byte(booted)) {
			if err := b.move(string(bytes.TrimSpace(b.line[len(booted):]))); err != nil {
				pass = fmt.Appendf(pass, "ward: refs/ward/last-good is not moved: %v\n", err)
			}
			b.line = b.line[:0]
		} else if end || !b.mayBe() || len(b.line) > maxBooted {
			pass = append(pass, b.line...)
			b.line, b.plain = b.line[:0], !end
		}
	}
	if len(pass) > 0 {
		if _, err := b.out.Write(pass); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

func (b *bootedLines) mayBe() bool {
	n := min(len(b.line), len(booted))
	return string(b.line[:n]) == booted[:n]
}

const lastGood = "refs/ward/last-good"

// moveLastGood moves refs/ward/last-good to a commit that is said to have started.
// What comes out of the fence is not believed: it must be a commit that main's own
// line of history holds (BOOT-2).
func moveLastGood(ctx context.Context, bare, commit string) error {
	if !git.IsID(commit) || commit == git.Zero {
		return fmt.Errorf("%.80q is no commit", commit)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	r := git.Open(bare)
	r.Limits = git.Limits{Memory: 4 << 30, Alloc: 512 << 20, CPU: time.Minute}
	for try := range 10 {
		old, err := r.Ref(ctx, lastGood)
		if err != nil || old == commit {
			return err
		}
		line, err := r.Output(ctx, "rev-list", "--first-parent", "--max-count=1000000", "refs/heads/main", "--")
		if err != nil {
			return err
		}
		if !bytes.Contains(line, []byte(commit+"\n")) {
			return fmt.Errorf("%s is not a commit of main", commit)
		}
		err = r.UpdateRefs(ctx, "watcher: booted", git.RefUpdate{Ref: lastGood, Old: old, New: commit})
		if !errors.Is(err, git.ErrLostRace) {
			return err
		}
		if err := git.Backoff(ctx, try); err != nil {
			return err
		}
	}
	return errors.New("it moved too often meanwhile")
}
