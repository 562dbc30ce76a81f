package door

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// bucket is a token bucket that delays and never refuses (SBX-4). It has no reservations: a
// client that leaves while it waits has taken nothing and delays nobody.
type bucket struct {
	burst     float64
	perSecond float64

	mu     sync.Mutex
	tokens float64 // negative: a debt
	at     time.Time
}

func newBucket(burst, perMinute float64) *bucket {
	return &bucket{burst: burst, perSecond: perMinute / 60, tokens: burst, at: time.Now()}
}

// take takes n tokens if they are there; else it takes none and returns how long until they
// are, if no other client takes them.
func (b *bucket) take(n float64) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fill()
	if b.tokens < n {
		return max(time.Millisecond, time.Duration((n-b.tokens)/b.perSecond*float64(time.Second)))
	}
	b.tokens -= n
	return 0
}

// spend takes n tokens, even into debt.
func (b *bucket) spend(n float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fill()
	b.tokens -= n
}

func (b *bucket) fill() {
	now := time.Now()
	// A clock that was put back takes nothing away.
	b.tokens = min(b.burst, b.tokens+max(0, now.Sub(b.at).Seconds())*b.perSecond)
	b.at = now
}

// await takes n tokens as soon as they are there, or returns ctx's error and takes none.
func (b *bucket) await(ctx context.Context, n float64) error {
	for wait := b.take(n); wait > 0; wait = b.take(n) {
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// whileThere is ctx until gone, which it polls, says that the client has left; stop ends the
// polling.
func whileThere(ctx context.Context, gone func() bool, often time.Duration) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for sleep(ctx, often) == nil { // only polling tells that a client has left
			if gone() {
				cancel(errGone)
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// askAgain is the polling interval for clients that leave.
const askAgain = 100 * time.Millisecond

// errGone ends the wait of a client that has left.
var errGone = errors.New("the client is gone")

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// isTemporary tells a shortage from a failed listener (accept(2)).
func isTemporary(err error) bool {
	return slices.ContainsFunc([]error{unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM, unix.ECONNABORTED}, func(e error) bool {
		return errors.Is(err, e)
	})
}
