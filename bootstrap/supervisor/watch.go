package supervisor

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/fsnotify/fsnotify"

	"git-ward/internal/process"
	"git-ward/protocols/boot"
)

const (
	// successEvery is the interval of checks for the agent's answer.
	successEvery = 20 * time.Millisecond
	// LookEvery is the interval of checks for signals and moves of main (AGT-6).
	LookEvery = 500 * time.Millisecond
	// guardEvery is the number of these checks per check of the guard.
	guardEvery = 2
	// quiet is the time after a signal in which further ones are ignored, so that 10^5 signals per
	// second cost no more than a few.
	quiet = 50 * time.Millisecond
	// staleGrace is how long an agent with outdated code may continue, so that it can hand over by
	// itself.
	staleGrace = 20 * time.Second
	// signalGrace is how long an agent that wrote a signal may take to end by itself.
	signalGrace = 10 * time.Second
)

// Agent describes one run of the agent: the command, and the conditions that end it.
type Agent struct {
	Command      Command // its Output is Tee's
	Tee          *Tee
	Branch       string // the branch that it is started from; its answer must name it
	Commit       string
	StartTimeout time.Duration         // the time in which it must answer
	OnBooted     func()                // called once, after the answer
	Signaled     func() bool           // reports whether a signal waits that ends the agent
	Signals      <-chan fsnotify.Event // triggers a call of Signaled, which is also called every LookEvery; may be nil
	Stale        func() bool           // reports whether its code is outdated; nil: never
	Idle         func()                // called at each check; may be nil
	Limits       Limits
	LogsSize     func() int64 // returns the bytes in the directory of logs
}

// End is how a run of the agent ended.
type End struct {
	Booted   bool           // it answered that it is up
	Signaled bool           // it wrote a signal
	Status   process.Status // how its first process ended
	Stale    bool           // its code was outdated
	Excess   *Excess        // a guard ended it
	Why      string         // why it ended, with the end of its output if it did not start
	Time     time.Duration  // how long it ran, without the build before
}

// Watch runs the agent until it ends. It ends the agent when ctx ends, when a signal waits, when the agent
// does not answer in time, or when it exceeds a limit. None of its processes remains. The error is non-nil
// if the agent could not be started.
func (s *Supervisor) Watch(ctx context.Context, a Agent) (End, error) {
	began := time.Now()
	out := a.Tee.capture()
	a.Command.Output = out
	question, err := ask(a.Branch, a.Commit)
	if err != nil {
		return End{}, err
	}
	defer question.close()
	a.Command.Env = append(a.Command.Env, boot.AskVar+"="+askFD)
	a.Command.Files = []*os.File{question.theirs}
	group, err := s.command(a.Command).Start()
	question.theirs.Close()
	if err != nil {
		return End{}, err
	}
	r := &run{agent: a, group: group, question: question, user: s.uid()}
	r.guard = guard{limits: a.Limits, output: out.total.Load, logs: a.LogsSize,
		usage: func() (all, own use) { return s.usage(group.Leader(), question.answerer) }}
	r.watch(ctx)
	r.finish(out)
	r.end.Time = time.Since(began)
	return r.end, nil
}

// run is an agent that runs.
type run struct {
	agent    Agent
	group    *process.Group
	question *question
	user     uint32 // the agent's
	guard    guard
	looks    int
	stale    time.Time // since when its code is outdated
	end      End
	grace    time.Duration // for what still runs when watch returns
}

// watch returns when the agent has ended or must be ended.
func (r *run) watch(ctx context.Context) {
	late := time.NewTimer(r.agent.StartTimeout)
	defer late.Stop()
	success := time.NewTicker(successEvery)
	defer success.Stop()
	look := time.NewTicker(LookEvery)
	defer look.Stop()
	r.grace = Grace
	signals, loud := r.agent.Signals, time.NewTimer(0)
	defer loud.Stop()
	for {
		select {
		case <-r.group.Exited():
			r.grace = 0
			return
		case <-ctx.Done():
			r.end.Why = "the watcher was told to end"
			return
		case <-late.C:
			if !r.lookBooted() { // it may have answered during the other checks
				r.end.Why = fmt.Sprintf("no SUCCESS within %s, which is an answer on descriptor %s, %s", r.agent.StartTimeout, askFD, boot.AskVar)
				return
			}
		case <-success.C:
			if r.lookBooted() {
				success.Stop()
			}
			continue
		case <-signals:
			signals = nil
			loud.Reset(quiet)
		case <-loud.C:
			signals = r.agent.Signals
		case <-look.C:
			if r.lookGuard() || r.lookStale() {
				return
			}
			if r.agent.Idle != nil {
				r.agent.Idle()
			}
		}
		if r.agent.Signaled() {
			r.end.Signaled = true
			r.awaitExit(ctx)
			return
		}
	}
}

// lookBooted checks whether the agent answered.
func (r *run) lookBooted() bool {
	if !r.end.Booted && r.question.answered(r.group.Leader(), r.user) {
		r.end.Booted = true
		r.agent.OnBooted()
	}
	return r.end.Booted
}

// lookGuard checks the agent's use of resources.
func (r *run) lookGuard() bool {
	if r.looks++; r.looks%guardEvery != 0 {
		return false
	}
	process.ReapOrphans(r.group.Leader())
	if r.end.Excess = r.guard.look(time.Now()); r.end.Excess == nil {
		return false
	}
	r.end.Why = "ended by a guard: " + r.end.Excess.Kind
	return true
}

// lookStale checks whether an agent whose code is outdated has had its time to hand over.
func (r *run) lookStale() bool {
	switch {
	case r.agent.Stale == nil || !r.end.Booted || r.stale.IsZero() && !r.agent.Stale():
		return false
	case r.stale.IsZero():
		r.stale = time.Now()
	}
	r.end.Stale = time.Since(r.stale) >= staleGrace
	if r.end.Stale {
		r.end.Why = "what it ran from is not wanted any more"
	}
	return r.end.Stale
}

// awaitExit waits for an agent that wrote a signal to end by itself.
func (r *run) awaitExit(ctx context.Context) {
	over := time.NewTimer(signalGrace)
	defer over.Stop()
	select {
	case <-r.group.Exited():
		r.grace = 0
	case <-ctx.Done():
	case <-over.C:
	}
}

// finish ends the agent with all its processes, and records how it ended.
func (r *run) finish(out *capture) {
	r.lookBooted() // a short-lived agent may have answered after the last check; it is not reaped yet
	r.end.Status, _ = r.group.End(r.grace)
	if r.end.Why == "" {
		r.end.Why = r.end.Status.String()
	}
	if text := out.tail.LastLines(); text != "" && !r.end.Booted {
		r.end.Why += ": " + text
	}
	r.end.Signaled = r.end.Signaled || r.agent.Signaled()
}
