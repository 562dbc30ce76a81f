package cycle

import (
	"context"
	"errors"
	"sync"
)

// Subagents records the subagents that a Team begins. From it, the detectors learn each subagent's prompt,
// and whether two worked at the same time (CONTEXT_BLEED_BETWEEN_ITERATIONS,
// STACKED_SPECULATIVE_ITERATIONS). The zero value is ready to use, and safe for concurrent use.
type Subagents struct {
	mu      sync.Mutex
	active  int
	most    int      // most active at the same time since the last call
	prompts []string // reported since the last call
}

var errStacked = errors.New("another subagent is at work: all but the oldest are cancelled")

// Begin records that a subagent begins. told is its prompt without the PM's own SYSTEM.md and COMMS.md,
// "" for the Skeptic and for a subagent that continues after a refusal. The subagent must use the
// returned context, which is already cancelled if another one is active, and call end when it has ended.
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
