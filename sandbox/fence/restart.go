package fence

import (
	"context"
	"errors"
	"time"
)

// The pauses before a new container, doubled from the first to the longest; a run
// of steadyRun or more was no failure to start.
const (
	firstPause   = time.Second
	longestPause = time.Minute
	steadyRun    = 10 * time.Minute
)

// keepRunning runs the payload: in a fence, or as plain processes.
func (l *launch) keepRunning(ctx context.Context) error {
	if l.spec.Unfenced {
		return l.restart(ctx, l.runProcesses)
	}
	return l.restart(ctx, l.runFenced)
}

// restart runs a watcher that is to stay in a new container, fenced anew, after
// every end that nobody asked for (SBX-1); unfenced, as new processes. One run is all
// for --once and for a command, and trouble with the fence itself is the admin's.
func (l *launch) restart(ctx context.Context, run func(context.Context) error) error {
	once := l.spec.Payload.Once || len(l.spec.Payload.Command) > 0
	pause := firstPause
	for {
		start := time.Now()
		err := run(ctx)
		l.ended(err)
		l.spec.Payload.Reset = false // once
		if once || ctx.Err() != nil || !endedItself(err) {
			return err
		}
		if time.Since(start) > steadyRun {
			pause = firstPause
		}
		l.log.Error().Err(err).Str("pause", pause.String()).Msg("the watcher ended unasked; a new one follows")
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		pause = min(2*pause, longestPause)
	}
}

// endedItself reports whether the payload ran and ended badly, as against a fence
// that could not be made.
func endedItself(err error) bool {
	var exit Exit
	var killed Killed
	return errors.As(err, &exit) || errors.As(err, &killed)
}
