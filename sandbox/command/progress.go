package command

import (
	"fmt"
	"io"
	"sync"
	"time"

	"git-ward/sandbox/verifier"
)

// progressDelay is how long a person looks at nothing before `git ward verify` says what
// it does.
const progressDelay = 2 * time.Second

// progress says on a person's stderr how far a verification is (LOOP-10): nothing
// while it is quick, then what has happened and each step as it comes.
type progress struct {
	mu    sync.Mutex
	w     io.Writer
	held  []string // until the time is over
	timer *time.Timer
	open  bool
	done  bool
}

func newProgress(w io.Writer, after time.Duration) *progress {
	p := &progress{w: w}
	p.timer = time.AfterFunc(after, p.show)
	return p
}

// show writes what was held, and lets the rest through.
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

// step is verifier.Claim's Progress, which tells of one command at most each 2 seconds
// while it runs.
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

// end keeps silent from here on.
func (p *progress) end() {
	p.timer.Stop()
	p.mu.Lock()
	p.done = true
	p.mu.Unlock()
}
