package door

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestPatience: a client that says nothing is given up after its silence, one that always
// has one more byte at the deadline.
func TestPatience(t *testing.T) {
	for every, want := range map[time.Duration]time.Duration{time.Hour: 2 * time.Second, time.Second: 8 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			read, write := io.Pipe()
			var all sync.WaitGroup
			defer all.Wait()
			defer near.Close()
			all.Go(func() { io.Copy(io.Discard, read) })
			all.Go(func() {
				defer far.Close()
				for _, err := io.WriteString(far, "fff0"); err == nil; _, err = io.WriteString(far, "x") {
					time.Sleep(every) // of the test's own clock
				}
			})
			start := time.Now()
			p := &push{stdin: write, list: &commandList{}}
			p.feed(piped{near}, inputLimit{idle: 2 * time.Second, deadline: start.Add(8 * time.Second), bytes: 1 << 20})
			if took := time.Since(start); took != want {
				t.Errorf("a byte each %v: given up after %v, want %v", every, took, want)
			}
		})
	}
}

// piped is a client at the end of a pipe.
type piped struct{ net.Conn }

func (piped) CloseRead() error  { return nil }
func (piped) CloseWrite() error { return nil }

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
