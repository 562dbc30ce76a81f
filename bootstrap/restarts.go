package bootstrap

import "time"

// restarts counts how often and how quickly agents are started.
type restarts struct {
	limit    int             // starts per hour above which the PM is told
	maxPause time.Duration   // between two starts
	short    int             // short runs in a row
	hopped   map[string]bool // programs that handed over in short runs since the last long run
	starts   []time.Time     // of the last hour, on the monotonic clock
}

// pause returns the time before the next start: none after a long run or the first short one, then it
// doubles.
func (r *restarts) pause() time.Duration {
	if r.short < 2 {
		return 0
	}
	return min(r.maxPause, time.Second<<min(r.short-2, 20))
}

// long resets the count of short runs after a long run.
func (r *restarts) long() { r.short, r.hopped = 0, nil }

// hands records a short run whose program handed over to another. A second handover by the same program
// counts as a short run, so that programs that only hand over to each other are slowed down.
func (r *restarts) hands(code string) {
	if r.hopped[code] {
		r.short++
	}
	if r.hopped == nil {
		r.hopped = map[string]bool{}
	}
	r.hopped[code] = true
}

// count counts a start and reports whether there were more than the limit within an
// hour.
func (r *restarts) count() bool {
	now := time.Now()
	r.starts = append(r.starts, now)
	for now.Sub(r.starts[0]) > time.Hour {
		r.starts = r.starts[1:]
	}
	r.starts = r.starts[max(0, len(r.starts)-r.limit-1):]
	return len(r.starts) > r.limit
}
