// Package await has a test wait for a condition and for nothing else: no test says
// how long another process, a file or a goroutine may take. One bound holds for all
// waits of a test, far above what the slowest machine needs, and it ends only what
// would never end.
package await

import (
	"testing"
	"time"
)

// bound is how long a test may wait for one thing. It is no expectation: a test that
// meets it fails, on any machine.
const bound = 5 * time.Minute

// Deadline is when a wait that begins now gives up: after the bound, or before go test
// ends the whole package, whose other results would be lost.
func Deadline(t testing.TB) time.Time {
	end := time.Now().Add(bound)
	if t, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if last, ok := t.Deadline(); ok && last.Add(-10*time.Second).Before(end) {
			return last.Add(-10 * time.Second)
		}
	}
	return end
}

// True waits until a condition holds, for what tells nobody: a file, a ref, another
// process. what names it for the failure.
func True(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := Deadline(t); !is(); time.Sleep(5 * time.Millisecond) { // nobody tells; see above
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// Value waits for the next value of a channel, or its end. what names it for the
// failure.
func Value[T any](t testing.TB, what string, from <-chan T) T {
	t.Helper()
	end := time.NewTimer(time.Until(Deadline(t)))
	defer end.Stop()
	select {
	case value := <-from:
		return value
	case <-end.C:
		t.Fatalf("never: %s", what)
		panic("unreachable")
	}
}
