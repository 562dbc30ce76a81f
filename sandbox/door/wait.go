package door

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// bucket is a token bucket that delays and never refuses (SBX-4): a taker whose
// token is not there yet books it and sleeps until it is due. Takers are served
// in the order in which they come.
type bucket struct {
	burst     float64
	perSecond float64

	mu     sync.Mutex
	tokens float64 // negative: so many are booked
	at     time.Time
}

func newBucket(burst, perMinute int) *bucket {
	return &bucket{
		burst:     float64(burst),
		perSecond: float64(perMinute) / 60,
		tokens:    float64(burst),
		at:        time.Now(),
	}
}

// take returns when a token is due, or with ctx's error.
func (b *bucket) take(ctx context.Context) error {
	return sleep(ctx, b.book())
}

func (b *bucket) book() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	// A clock that went back takes nothing away.
	b.tokens = min(b.burst, b.tokens+max(0, now.Sub(b.at).Seconds())*b.perSecond)
	b.at = now
	b.tokens--
	return time.Duration(max(0, -b.tokens) / b.perSecond * float64(time.Second))
}

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

// isTemporary tells a shortage from a broken listener (accept(2)).
func isTemporary(err error) bool {
	for _, e := range []error{unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM, unix.ECONNABORTED} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
