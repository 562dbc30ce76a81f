package gateway

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
)

// Shared has the limits that all gateways of one launch share: on the launcher's memory, and
// on the rate of calls to providers. Each worker has a part of both that no other can use
// (MANY-1).
type Shared struct {
	pool   *semaphore.Weighted // bytes beyond each worker's own
	unpaid rates
	paid   rates
}

// poolBytes is the memory for requests and answers that gateways share beyond each one's
// Limits.Own.
const poolBytes = 128 << 20

// NewShared makes it. A directive may make so many calls a minute, and so many that cost nothing.
func NewShared(calls, freeCalls int) *Shared {
	return &Shared{
		pool: semaphore.NewWeighted(poolBytes),
		paid: rates{perMinute: calls, what: "the calls of %s, however little they cost, are more than [budget] calls"},
		unpaid: rates{perMinute: freeCalls,
			what: "the calls of %s that cost nothing, such as lists of models, counts of tokens and calls that fail, are more than [budget] free_calls"},
	}
}

// rates limits calls of a kind: so many a minute per directive, with bursts of ten times as
// many.
type rates struct {
	perMinute int
	what      string // logs that a directive made too many
	mu        sync.Mutex
	counts    map[string]*tally
}

// tally is one directive's count.
type tally struct {
	*rate.Limiter
	said atomic.Bool // the excess was logged
}

// loan is memory for a request's body or an answer's event.
type loan struct {
	g     *Gateway
	own   bool // from the gateway's own part
	bytes int64
}

// shrink returns what is not needed. It accepts nil.
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

// tryLend lends if there is room now, else returns nil.
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

// lend waits for memory for a request's body.
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

// of is a directive's tally.
func (r *rates) of(directive string) *tally {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counts[directive]
	if c == nil {
		if r.counts == nil {
			r.counts = map[string]*tally{}
		}
		c = &tally{Limiter: rate.NewLimiter(rate.Limit(float64(r.perMinute)/60), 10*r.perMinute)}
		r.counts[directive] = c
	}
	return c
}

// take counts a directive's calls, or refuses. Only a directive's first refusal is logged,
// because a flood of calls would be a flood of lines.
func (r *rates) take(directive string, calls int) error {
	c := r.of(directive)
	if c.Tokens() >= 1 && c.AllowN(time.Now(), calls) {
		return nil
	}
	e := refusef(http.StatusTooManyRequests, r.what+": %d a minute, and %d at once; try again in a minute", directive, r.perMinute, 10*r.perMinute)
	e.after, e.told = time.Minute, c.said.Swap(true)
	return e
}

// counted refuses a directive's excess calls, because all share the provider's rate limit of
// the host's key. Free calls count as their own kind; others count as calls, and as their kind
// when they have ended.
func (x *exchange) counted() error {
	shared := x.g.config.Shared
	if x.endpoint == nil || x.endpoint.free {
		return shared.unpaid.take(x.directive, 1)
	}
	if err := shared.unpaid.take(x.directive, 0); err != nil {
		return err
	}
	return shared.paid.take(x.directive, 1)
}
