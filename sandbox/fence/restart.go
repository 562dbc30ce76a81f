package fence

import (
	"context"
	"errors"
	"time"

	"git-ward/internal/runstate"
)

// The pauses before a new container, doubled from the first to the longest; a run
// of steadyRun or more was no failure to start.
const (
	firstPause   = time.Second
	longestPause = time.Minute
	steadyRun    = 10 * time.Minute
)

// keepRunning runs the payload: in a fence, or as plain processes.
func (w *worker) keepRunning(ctx context.Context) error {
	if w.spec.Unfenced {
		return w.restart(ctx, w.runProcesses)
	}
	return w.restart(ctx, w.runFenced)
}

// restart runs a watcher that is to stay in a new container, fenced anew, after
// every end that nobody asked for (SBX-1); unfenced, as new processes. One run is all
// for --once and for a command, and trouble with the fence itself is the admin's.
func (w *worker) restart(ctx context.Context, run func(context.Context) error) error {
	once := w.payload.Once || len(w.payload.Command) > 0
	pause := firstPause
	for {
		start := time.Now()
		w.tell(func(now *runstate.Worker) { now.Doing, now.Why = runstate.Starts, "" })
		err := w.interruptible(ctx, run)
		w.tellEnd(err)
		w.payload.Reset = false // once
		if errors.Is(err, errStopped) {
			err = nil
			if !once { // it goes on with something else
				continue
			}
		}
		if once || ctx.Err() != nil || !endedItself(err) {
			return err
		}
		if time.Since(start) > steadyRun {
			pause = firstPause
		}
		w.log.Error().Err(err).Str("worker", w.holder).Str("pause", pause.String()).Msg("the watcher ended unasked; a new one follows")
		w.tell(func(now *runstate.Worker) { now.Doing, now.Why = runstate.Restarts, firstLine(err) })
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		pause = min(2*pause, longestPause)
	}
}

// interrupted is the end of a run that the host ended, and wants followed by another: its
// lease is lost, or somebody stopped what it was at.
type interrupted struct{ cause error }

func (i interrupted) Error() string { return i.cause.Error() }
func (i interrupted) Unwrap() error { return i.cause }

// interruptible is a run that interrupt ends.
func (w *worker) interruptible(ctx context.Context, run func(context.Context) error) error {
	inner, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	defer close(ended)
	w.mu.Lock()
	w.cancel, w.ended = cancel, ended
	w.mu.Unlock()
	err := run(inner)
	if cause := context.Cause(inner); ctx.Err() == nil && cause != nil {
		err = interrupted{cause}
	}
	cancel(nil)
	return err
}

// interrupt ends the present run, if there is one; ended is closed when it has.
func (w *worker) interrupt(why error) (ended <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cancel != nil {
		w.cancel(why)
	}
	return w.ended
}

// endedItself reports whether the payload ran and ended badly, as against a fence
// that could not be made.
func endedItself(err error) bool {
	var exit Exit
	var killed Killed
	var host interrupted
	return errors.As(err, &exit) || errors.As(err, &killed) || errors.As(err, &host)
}
