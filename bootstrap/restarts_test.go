package bootstrap

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestPauses: none after the first short run, then twice as long each time, up to the
// bound.
func TestPauses(t *testing.T) {
	r := restarts{maxPause: 10 * time.Minute}
	for short, want := range map[int]time.Duration{0: 0, 1: 0, 2: time.Second, 3: 2 * time.Second, 8: 64 * time.Second, 12: 10 * time.Minute, 1000: 10 * time.Minute} {
		r.short = short
		if got := r.pause(); got != want {
			t.Errorf("after %d: %v", short, got)
		}
	}
}

// TestHandovers: programs that hand over to each other are paused as those that end are; the
// first handover of each is none of these, nor is one after a long run.
func TestHandovers(t *testing.T) {
	r := restarts{maxPause: time.Minute}
	for i, want := range []int{0, 0, 1, 2, 3} {
		if r.hands([]string{"main", "branch"}[i%2]); r.short != want {
			t.Errorf("handover %d: %d short runs, not %d", i, r.short, want)
		}
	}
	r.long()
	if r.hands("main"); r.short != 0 {
		t.Errorf("after a long run: %d", r.short)
	}
}

// TestRestarts counts those of the last hour.
func TestRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := restarts{limit: 3}
		for i, c := range []struct {
			after time.Duration
			want  bool
		}{{0, false}, {0, false}, {50 * time.Minute, false}, {time.Minute, true}, {0, true}, {10 * time.Minute, true}, {time.Hour, false}} {
			time.Sleep(c.after) // of the test's own clock
			if got := r.count(); got != c.want {
				t.Errorf("start %d: %v", i, got)
			}
		}
	})
}
