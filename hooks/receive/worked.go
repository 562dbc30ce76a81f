package receive

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/process"
)

const (
	// patience is how many times as long as the deadline a push is judged at most: a machine
	// that gives a hook less of its time than that is no longer in service.
	patience = 4
	// share is the part of the deadline that must have been work: the rest of it, a hook waits
	// for its disk on an idle machine, too.
	share = 2. / 3
	// lookEvery is how often is looked, once the deadline is over by the clock.
	lookEvery = 50 * time.Millisecond
)

// within is a context that ends once the checks have had their deadline since a moment. A
// deadline counts work: on a busy machine the clock runs on while they wait for their turn, and
// a push would be refused for what others do.
func within(ctx context.Context, since time.Time, deadline time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		last := since.Add(patience * deadline)
		for next := time.Until(since.Add(deadline)); ; next = lookEvery {
			select {
			case <-ctx.Done():
				return
			case <-time.After(next):
			}
			if worked() >= time.Duration(share*float64(deadline)) || time.Now().After(last) {
				cancel(context.DeadlineExceeded)
				return
			}
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// worked is the processor time of this hook and its children, those included that have ended.
func worked() time.Duration {
	var ended unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &ended); err != nil {
		return 0
	}
	sum := clock(unix.CLOCK_PROCESS_CPUTIME_ID) + time.Duration(ended.Utime.Nano()+ended.Stime.Nano())
	for _, child := range process.Children() {
		sum += clock(^int32(child.PID)<<3 | 2) // clock_getcpuclockid(3)
	}
	return sum
}

// clock is a clock's time, 0 where there is none.
func clock(id int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(id, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
