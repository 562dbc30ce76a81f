package command

import (
	"fmt"
	"io"
	"sync"
	"time"

	"git-ward/sandbox/verifier"
)

// progressDelay is how long `git ward verify` runs silently before it reports progress.
const progressDelay = 2 * time.Second

// progress reports on stderr how far a verification is (LOOP-10). It prints nothing in the
// first progressDelay, then all that has happened, and then each step.
type progress struct {
	mu    sync.Mutex
	w     io.Writer
	held  []string // until the delay is over
	timer *time.Timer
	open  bool
	done  bool
}

func newProgress(w io.Writer, after time.Duration) *progress {
	p := &progress{w: w}
	p.timer = time.AfterFunc(after, p.show)
	return p
}

// show writes the held steps and passes on later ones at once.
func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return
	}
	p.open = true
	for _, line := range p.held {
		fmt.Fprintln(p.w, line)
	}
	p.held = nil
}

// step is verifier.Claim's Progress. It reports a running command at most every 2 seconds.
func (p *progress) step(s verifier.Step) {
	line := s.Words()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open {
		fmt.Fprintln(p.w, line)
	} else {
		p.held = append(p.held, line)
	}
}

// end stops all output.
func (p *progress) end() {
	p.timer.Stop()
	p.mu.Lock()
	p.done = true
	p.mu.Unlock()
}
