package cycle

import (
	"context"
	"errors"
	"sync"
)

// Subagents is where a Team says whom it begins, so that the detectors see what was
// told to whom, and whether one works while another does
// (CONTEXT_BLEED_BETWEEN_ITERATIONS, STACKED_SPECULATIVE_ITERATIONS). The zero value
// is ready; it may be used concurrently.
type Subagents struct {
	mu      sync.Mutex
	active  int
	most    int      // most active at the same time since the last call
	prompts []string // reported since the last call
}

var errStacked = errors.New("another subagent is at work: all but the oldest are cancelled")

// Begin says that a subagent begins, and what it was told beyond the PM's own
// SYSTEM.md and COMMS.md; told is "" for the Skeptic and for one that goes on after
// a refusal. Its work belongs under the context, which is ended already where
// another subagent is active. end says that it ended.
func (s *Subagents) Begin(ctx context.Context, told string) (subagent context.Context, end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active++
	s.most = max(s.most, s.active)
	if told != "" {
		s.prompts = append(s.prompts, told)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	if s.active > 1 {
		cancel(errStacked)
	}
	return ctx, sync.OnceFunc(func() {
		cancel(nil)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.active--
	})
}

// sinceLast is what was reported, and the most active at the same time, since the last call.
func (s *Subagents) sinceLast() (prompts []string, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	prompts, most = s.prompts, s.most
	s.prompts, s.most = nil, s.active
	return prompts, most
}
