// Package await lets a test wait for a condition. No test says how long another process, a
// file or a goroutine may take: one bound covers all waits of a test, and is far above what
// the slowest machine needs.
package await

import (
	"sync"
	"testing"
	"time"
)

// bound is how long one test may wait in total. It is no expectation of speed: a test that
// reaches it fails, on any machine.
const bound = 15 * time.Minute

// tests is how long each running test has waited so far.
var tests struct {
	sync.Mutex
	of map[testing.TB]*waited
}

// waited is the time of a test in which at least one of its goroutines waited.
type waited struct {
	all     time.Duration
	waiting int       // goroutines
	since   time.Time // when the first of them began
}

// of is how long a test has waited. It is forgotten when the test ends: later cleanups have a
// bound of their own. The caller holds the lock.
func of(t testing.TB) *waited {
	w := tests.of[t]
	if w == nil {
		if tests.of == nil {
			tests.of = map[testing.TB]*waited{}
		}
		w = &waited{}
		tests.of[t] = w
		t.Cleanup(func() {
			tests.Lock()
			defer tests.Unlock()
			delete(tests.of, t)
		})
	}
	return w
}

// now is the total waiting time up to a moment.
func (w *waited) now(now time.Time) time.Duration {
	if w.waiting == 0 {
		return w.all
	}
	return w.all + now.Sub(w.since)
}

// begin counts time as waiting until the returned function is called.
func begin(t testing.TB) (end func()) {
	tests.Lock()
	defer tests.Unlock()
	w := of(t)
	if w.waiting == 0 {
		w.since = time.Now()
	}
	w.waiting++
	return func() {
		tests.Lock()
		defer tests.Unlock()
		w.all = w.now(time.Now())
		w.since = time.Now()
		w.waiting--
	}
}

// Deadline is when a wait that begins now gives up: when the test has waited for as long
// as it may, or before go test ends the whole package, whose other results would be lost.
func Deadline(t testing.TB) time.Time {
	tests.Lock()
	now := time.Now()
	end := now.Add(bound - of(t).now(now))
	tests.Unlock()
	return before(t, end)
}

// before is a time, or some seconds before go test ends the package where that is sooner.
func before(t testing.TB, end time.Time) time.Time {
	if t, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if last, ok := t.Deadline(); ok && last.Add(-10*time.Second).Before(end) {
			return last.Add(-10 * time.Second)
		}
	}
	return end
}

// True polls until a condition holds, for things that cannot notify: a file, a ref, another
// process. The text what names the condition in the failure.
func True(t testing.TB, what string, is func() bool) {
	t.Helper()
	defer begin(t)()
	for end := Deadline(t); !is(); time.Sleep(5 * time.Millisecond) { // nobody tells; see above
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// Value waits for the next value of a channel, or its close. The text what names it in the
// failure.
func Value[T any](t testing.TB, what string, from <-chan T) T {
	t.Helper()
	defer begin(t)()
	end := time.NewTimer(time.Until(Deadline(t)))
	defer end.Stop()
	select {
	case value := <-from:
		return value
	case <-end.C:
	}
	select {
	case value := <-from: // it came with the deadline
		return value
	default:
		t.Fatalf("never: %s", what)
		panic("unreachable")
	}
}
