package receive

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/process"
)

const (
	// patience is by how much a push's judgement may exceed the deadline on the clock: a
	// machine that gives a hook less time than that is out of service.
	patience = 4
	// share is the part of the deadline that must have been processor time, because a hook
	// also waits for its disk on an idle machine.
	share = 2. / 3
	// lookEvery is how often to check once the clock has passed the deadline.
	lookEvery = 50 * time.Millisecond
)

// within is a context that ends when the checks have worked for their deadline. It counts
// work, because on a busy machine they wait for their turn, and a push would be refused
// because of others.
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
