package door

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestBucket: the burst at once, then one token an interval; an idle bucket
// fills up to the burst and no further.
func TestBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBucket(3, 30)
		start := time.Now()
		want := func(want time.Duration) {
			t.Helper()
			if err := b.await(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start).Round(time.Millisecond); took != want {
				t.Errorf("token after %v, want %v", took, want)
			}
		}
		for _, at := range []time.Duration{0, 0, 0, 2 * time.Second, 4 * time.Second} {
			want(at)
		}
		time.Sleep(time.Hour) // of the test's own clock
		start = time.Now()
		for _, at := range []time.Duration{0, 0, 0, 2 * time.Second} {
			want(at)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if b.await(ctx, 1) == nil {
			t.Error("a token after the end")
		}
	})
}
