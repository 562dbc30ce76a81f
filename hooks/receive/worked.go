package receive

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/process"
)

const (
	// patience is by how much a push's judgement or recording may exceed its deadline on the clock: a
	// machine that gives a hook less time than that is out of service.
	patience = 4
	// share is the part of the deadline that must have been processor time, because a hook
	// also waits for its disk on an idle machine.
	share = 2. / 3
	// lookEvery is how often to check once the clock has passed the deadline.
	lookEvery = 50 * time.Millisecond
)

// within is a context that ends when the hook has worked for the deadline from now on. It counts
// work, because on a busy machine or a slow disk it waits for its turn, and a push would be
// refused, or not recorded, because of others.
func within(ctx context.Context, since time.Time, deadline time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	before := spent()
	go func() {
		last := since.Add(patience * deadline)
		for next := time.Until(since.Add(deadline)); ; next = lookEvery {
			select {
			case <-ctx.Done():
				return
			case <-time.After(next):
			}
			if worked()-before >= time.Duration(share*float64(deadline)) || time.Now().After(last) {
				cancel(context.DeadlineExceeded)
				return
			}
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// spent is the processor time of this hook and of its children that have ended.
func spent() time.Duration {
	var ended unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &ended); err != nil {
		return 0
	}
	return clock(unix.CLOCK_PROCESS_CPUTIME_ID) + time.Duration(ended.Utime.Nano()+ended.Stime.Nano())
}

// worked is what is spent, and the processor time of the children that run.
func worked() time.Duration {
	sum := spent()
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
