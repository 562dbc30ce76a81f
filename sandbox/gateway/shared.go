package gateway

import (
	"context"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
)

// Shared is what the gateways of one launch take together, of the launcher's memory and of
// the providers' patience. Each worker has a part in both that no other takes (MANY-1).
type Shared struct {
	pool      *semaphore.Weighted // bytes beyond the workers' own
	perMinute int
	mu        sync.Mutex
	unpaid    map[string]*rate.Limiter // by directive
}

// poolBytes is what all gateways hold of requests and answers, beyond Limits.Own of each.
const poolBytes = 128 << 20

// NewShared makes it. FreeCalls is how many calls that cost nothing a directive may make a
// minute, and ten times as many at once.
func NewShared(freeCalls int) *Shared {
	return &Shared{pool: semaphore.NewWeighted(poolBytes), perMinute: freeCalls, unpaid: map[string]*rate.Limiter{}}
}

// loan is the place that a request's body, or an event of an answer, takes in memory.
type loan struct {
	g     *Gateway
	own   bool // of what no other gateway takes
	bytes int64
}

// shrink gives back what is not needed. A nil loan is none.
func (l *loan) shrink(to int64) {
	if l == nil || to >= l.bytes {
		return
	}
	back := l.bytes - to
	l.bytes = to
	if l.own {
		l.g.own.Release(back)
		return
	}
	l.g.bodies.Release(back)
	l.g.config.Shared.pool.Release(back)
}

// tryLend is a loan where there is room now, nil where there is none.
func (g *Gateway) tryLend(bytes int64) *loan {
	switch {
	case g.own.TryAcquire(bytes):
		return &loan{g, true, bytes}
	case !g.bodies.TryAcquire(bytes):
		return nil
	case !g.config.Shared.pool.TryAcquire(bytes):
		g.bodies.Release(bytes)
		return nil
	}
	return &loan{g, false, bytes}
}

// lend waits for the place that so much of a request's body needs.
func (g *Gateway) lend(ctx context.Context, bytes int64) (*loan, error) {
	bytes = min(bytes, g.limits.Bodies)
	if l := g.tryLend(bytes); l != nil {
		return l, nil
	}
	ctx, cancel := context.WithTimeout(ctx, g.limits.Queue)
	defer cancel()
	const again = "send a smaller one, or try again; no setting raises it"
	if g.bodies.Acquire(ctx, bytes) != nil {
		return nil, refusef(http.StatusTooManyRequests, "the requests of this worker hold as much of the launcher's memory as one worker's may, %d KiB: %s", (g.limits.Own+g.limits.Bodies)>>10, again)
	}
	if g.config.Shared.pool.Acquire(ctx, bytes) != nil {
		g.bodies.Release(bytes)
		return nil, refusef(http.StatusTooManyRequests, "the requests of all workers hold the %d KiB of the launcher's memory that they share, beyond the %d KiB of each: %s", int64(poolBytes)>>10, g.limits.Own>>10, again)
	}
	return &loan{g, false, bytes}, nil
}

// unpaidOf is the count of a directive's calls that cost nothing.
func (s *Shared) unpaidOf(directive string) *rate.Limiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.unpaid[directive]
	if l == nil {
		l = rate.NewLimiter(rate.Limit(float64(s.perMinute)/60), 10*s.perMinute)
		s.unpaid[directive] = l
	}
	return l
}

// unpriced refuses a call of a directive that made too many which cost nothing: no budget
// bounds them, and the provider's patience with the host's key is everybody's. A call that
// costs nothing by its kind counts here; another one, when it has ended so.
func (x *exchange) unpriced() error {
	calls := x.g.config.Shared.unpaidOf(x.directive)
	takes := 0
	if x.endpoint == nil || x.endpoint.free {
		takes = 1
	}
	if calls.Tokens() >= 1 && calls.AllowN(time.Now(), takes) {
		return nil
	}
	return refusef(http.StatusTooManyRequests, "the calls of %s that cost nothing, such as lists of models, counts of tokens and calls that fail, are more than [budget] free_calls: %d a minute, and %d at once; try again in a minute",
		x.directive, x.g.config.Shared.perMinute, 10*x.g.config.Shared.perMinute)
}
