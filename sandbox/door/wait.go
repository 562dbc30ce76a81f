package door

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// bucket is a token bucket that delays and never refuses (SBX-4). Nobody books ahead: who
// goes away while he waits has taken nothing, and makes nobody wait longer.
type bucket struct {
	burst     float64
	perSecond float64

	mu     sync.Mutex
	tokens float64 // negative: so many are owed
	at     time.Time
}

func newBucket(burst, perMinute float64) *bucket {
	return &bucket{burst: burst, perSecond: perMinute / 60, tokens: burst, at: time.Now()}
}

// take takes n tokens if they are there; else it takes none and returns how long it is
// until they are, if nobody else takes them.
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

// spend takes n tokens, whether they are there or not.
func (b *bucket) spend(n float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fill()
	b.tokens -= n
}

func (b *bucket) fill() {
	now := time.Now()
	// A clock that went back takes nothing away.
	b.tokens = min(b.burst, b.tokens+max(0, now.Sub(b.at).Seconds())*b.perSecond)
	b.at = now
}

// await takes n tokens as soon as they are there, or returns ctx's error and has taken
// none.
func (b *bucket) await(ctx context.Context, n float64) error {
	for wait := b.take(n); wait > 0; wait = b.take(n) {
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// whileThere is ctx until gone, asked so often, says that nobody waits any more; stop ends
// the asking.
func whileThere(ctx context.Context, gone func() bool, often time.Duration) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for sleep(ctx, often) == nil { // nothing but asking tells that a client has gone
			if gone() {
				cancel(errGone)
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// askAgain is the time between two questions whether a client is still there.
const askAgain = 100 * time.Millisecond

// errGone ends the wait of a client that does not wait.
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

// isTemporary tells a shortage from a broken listener (accept(2)).
func isTemporary(err error) bool {
	for _, e := range []error{unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM, unix.ECONNABORTED} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
