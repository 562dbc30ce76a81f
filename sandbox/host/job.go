package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"git-ward/internal/diag"
	"git-ward/protocols/schedule"
	"git-ward/sandbox/lease"
)

// Job is one assignment. Its fields stay as assign has set them, but for err, which only the
// worker's own goroutine writes, and for what is guarded.
type Job struct {
	Directive string
	Number    int    // the worker's number, from 1
	Holder    string // its name
	Where     string
	Hold      *lease.Hold
	First     bool // the first job in this slot in this launch

	host   *Host
	offer  *offer // nil for a slot of the launch's own
	cancel context.CancelCauseFunc
	over   chan struct{} // closed after its end, when its lease is released and the host knows
	began  time.Time
	before trace
	err    error // how it ended; read after its end
	guarded
}

// guarded is what a job's worker and the host change while it runs, under the host's lock.
type guarded struct {
	runs  program   // what its agent runs
	next  string    // the commit that its agent said last that it runs, until the host has seen to it; "" for none
	text  string    // hash of the directive's text, as last read
	waits bool      // it reported that it is waiting
	idle  time.Time // since when there is nothing to do; zero if there is
	pulse pulse     // of its watcher
}

// Ended says why a worker ended by what is not its work: the host ended it, as when its lease was
// lost, somebody stopped the directive, or nothing is left to do on it; or its place went away.
type Ended struct{ Why error }

func (e *Ended) Error() string { return e.Why.Error() }
func (e *Ended) Unwrap() error { return e.Why }

var (
	errStopped = errors.New("somebody stopped it")
	errIdle    = errors.New("there is nothing to do on it")
	errSilent  = errors.New("its agent answered that it is up, but showed no sign of work for [bootstrap] check")
	errMute    = errors.New("its watcher has given no sign of life for [launch] silence: it is stopped, or frozen")
	errNoWord  = errors.New("it ended without a message")
)

// look records since when there is nothing to do.
func (j *Job) look(r *schedule.Rules, d *schedule.Directive, now time.Time) {
	due := schedule.Over
	if j.text = ""; d != nil {
		j.text = d.Hash
		due, _ = r.Due(d)
	}
	switch {
	case due == schedule.Now:
		j.idle, j.waits = time.Time{}, false
	case j.idle.IsZero():
		j.idle = now
	}
}

// run runs the worker, keeps its lease alive, and releases it.
func (j *Job) run(ctx context.Context) {
	keeping, enough := context.WithCancel(context.WithoutCancel(ctx))
	go j.Hold.Keep(keeping, func(why error) {
		j.cancel(&Ended{diag.Hint(fmt.Errorf("the lease of %s is lost: %w", j.Directive, why), "git ward lease says who has it")})
	})
	run := j.host.spec.Run
	if j.offer != nil {
		run = j.offer.run
	}
	j.err = errNoWord
	defer func() {
		enough()
		j.err = errors.Join(j.err, j.host.giveBack(ctx, j))
		j.cancel(nil)
		j.host.ended <- j
	}()
	j.err = How(ctx, run(ctx, j))
}

// Up records that the worker's payload runs.
func (j *Job) Up() {
	j.host.mu.Lock()
	defer j.host.mu.Unlock()
	j.host.everUp = true
}

// program is the program of a worker's agent, and its progress.
type program struct {
	commit string    // of main, by the agent's answer that it is up; "" before
	answer time.Time // when it came
	from   trace     // the directive's trace at that time
	sign   bool      // it has shown a sign of work
	held   bool      // the directive has moved since
}

// Runs records which commit of main the worker's agent runs, by its answer that it is up.
func (j *Job) Runs(commit string) {
	j.host.mu.Lock()
	j.next, j.runs.answer, j.runs.sign = commit, time.Now(), false
	j.host.mu.Unlock()
	j.host.nudge()
}

// Sign records that the worker gave a sign of work.
func (j *Job) Sign() {
	j.host.mu.Lock()
	defer j.host.mu.Unlock()
	j.runs.sign = true
}

// unproven reports whether the agent has answered but the directive has not moved since.
func (p *program) unproven() bool { return p.commit != "" && !p.held }

// silent reports whether the agent has answered but has shown no work for so long.
func (p *program) silent(long time.Duration) bool {
	return p.unproven() && !p.sign && time.Since(p.answer) > long
}

// fruitless reports whether a job has ended with a program that answered and then did nothing.
func (j *Job) fruitless() bool {
	return j.runs.unproven() && (j.err == nil && !j.runs.sign || errors.Is(j.err, errSilent))
}

// Waits records whether the worker, by its own word, only waits for something. It counts as a
// sign of work.
func (j *Job) Waits(yes bool) {
	j.host.mu.Lock()
	was := j.waits
	j.waits, j.runs.sign = yes, true
	j.host.mu.Unlock()
	if yes && !was {
		j.host.nudge()
	}
}

// byItsWork reports whether what the worker ran may have caused its bad end: its agent had answered,
// and the end is no Ended but for its watcher's silence.
func (j *Job) byItsWork() bool {
	ended := (*Ended)(nil)
	return j.err != nil && (j.runs.commit != "" || j.next != "") && (errors.Is(j.err, errMute) || !errors.As(j.err, &ended))
}

// How returns how a worker ended, or why the host ended it.
func How(ctx context.Context, err error) error {
	if ended := (*Ended)(nil); errors.As(context.Cause(ctx), &ended) {
		return ended
	}
	return err
}

// Followed reports whether an end was a failure, after which another worker starts.
func Followed(ctx context.Context, err error) bool {
	if ended := (*Ended)(nil); errors.As(context.Cause(ctx), &ended) {
		return !onPurpose(ended)
	}
	return err != nil && ctx.Err() == nil // otherwise the launch ends
}

// onPurpose reports whether the host ended a worker for no fault of the worker's own.
func onPurpose(err error) bool {
	return errors.Is(err, errStopped) || errors.Is(err, errIdle) || errors.Is(err, errUnfolded)
}
