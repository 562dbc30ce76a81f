package worker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"git-ward/agent/interaction"
	"git-ward/agent/stop"
	"git-ward/internal/git"
	"git-ward/protocols/loop"
	"git-ward/protocols/schedule"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// watchEvery is the interval of checks of a running unit. After the PM's stop it must be silent within two
// seconds (WORK-3), and ending the processes takes most of these.
const watchEvery = 250 * time.Millisecond

// signEvery is how many checks there are between signs of life.
const signEvery = 8

// held is why a unit may not continue, if the agent has to record it; the PM's own stop is
// already in the journal.
type held uow.Reason

func (h held) Error() string { return string(h) }

// watch checks a unit while it is worked on. It ends the work's context when the PM takes the
// unit away (WORK-3): paused, ended, text edited or removed, scratch/STOP, an acknowledgement
// due. It reads the remote itself, by stat while nothing moves, and does not use the agent's
// clones or journal, which others use meanwhile.
type watch struct {
	bare     *git.Repo
	unit     uow.ID
	hash     string // of the directive's text
	control  string // ref
	stopFile string // in the working tree; "" where it does not count
	stopSeen bool   // scratch/STOP existed before: the loop has it among its own signals
	cancel   context.CancelCauseFunc
	done     chan struct{}

	state string           // the agent's state directory, for signs of life
	lost  interaction.Sign // used by earlier runs in the then current iteration

	mu    sync.Mutex
	sign  interaction.Sign // the current iteration at its start
	began time.Time
	end   context.CancelCauseFunc // ends the current worker's context
	gate  *interaction.Gate       // the current worker's gate; may be nil
	from  int                     // tool calls already in the journal, or before the PM's last acknowledgement
	pulse int64                   // interactions until an acknowledgement is due; -1: no limit
	spin  int64                   // likewise until the unit counts as spinning
}

// watch starts the checks. The context ends with a stop.Suspended; end ends the checks.
func (r *unitRun) watch(ctx context.Context) (work context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watch{
		bare: git.Open(r.deps.store.Bare), unit: r.unit.journal.ID, hash: r.unit.directive.Hash(), control: r.deps.config.Control.Ref(),
		state: r.deps.store.State, lost: interaction.Lost(r.deps.store.State, r.unit.journal.Records),
		stopSeen: r.stopFile(ctx) != "", cancel: cancel, done: make(chan struct{}),
	}
	if !w.stopSeen && !r.deps.config.Control.Split() {
		w.stopFile = filepath.Join(r.work.Dir(), loop.StopPath)
	}
	r.watching = w
	go w.run(ctx)
	return ctx, func() {
		cancel(nil)
		<-w.done
		w.live()
	}
}

func (w *watch) run(ctx context.Context) {
	defer close(w.done)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	units, branch := w.bare.Watch(w.unit.Ref()), w.bare.Watch(w.control)
	unit, control := true, true // changes before the start are read, too
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if n%signEvery == 0 {
			w.live()
		}
		unit, control = units.Moved() || unit, branch.Moved() || control
		why, err := w.look(ctx, unit, control)
		switch {
		case why != nil && why.Kind == stop.Suspended:
			w.cancel(why)
			return
		case why != nil:
			w.enough(why)
		}
		if err == nil { // unreadable: read again
			unit, control = false, false
		}
	}
}

// enough ends the current worker's work, not the unit's.
func (w *watch) enough(why *stop.Stop) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end != nil {
		w.end(why)
	}
}

// look returns why the work must end, nil if it need not.
func (w *watch) look(ctx context.Context, unit, control bool) (why *stop.Stop, err error) {
	if w.stopFile != "" {
		if _, err := os.Lstat(w.stopFile); err == nil {
			return stopped("the working tree"), nil
		}
	}
	if why := w.due(); why != nil {
		return why, nil
	}
	if !unit && !control {
		return nil, nil
	}
	reader := w.bare.Reader(ctx)
	defer reader.Close()
	if unit {
		if why, err = w.unitSays(reader); why != nil || err != nil {
			return why, err
		}
	}
	if control {
		return w.controlSays(reader)
	}
	return nil, nil
}

// unitSays evaluates the journal's newest record. The agent's own steps are known.
func (w *watch) unitSays(r *git.Reader) (*stop.Stop, error) {
	last, err := state.Last(r, w.unit)
	switch {
	case err != nil || last == nil || last.Actor == uow.Agent:
		return nil, err
	case last.State != uow.Active:
		return stop.New(stop.Suspended, "%s is %s, by the %s: %s", w.unit, last.State, last.Actor, last.ReasonCode), nil
	}
	w.allow(last) // the PM's acknowledgement
	return nil, nil
}

// controlSays evaluates the control branch.
func (w *watch) controlSays(r *git.Reader) (*stop.Stop, error) {
	if there, err := schedule.Stop(r, w.control); err != nil {
		return nil, err
	} else if there && !w.stopSeen {
		return stopped(w.control), nil
	}
	doc, err := state.ReadComms(r, w.control)
	if err != nil {
		return nil, err
	}
	d := doc.Directive(w.unit.Directive)
	switch {
	case d == nil:
		return stop.New(stop.Suspended, "%s is gone from the directives", w.unit.Directive), nil
	case d.Hash() != w.hash:
		return stop.New(stop.Suspended, "%s was edited", w.unit.Directive), nil
	case doc.Dropped(*d):
		return stop.New(stop.Suspended, "%s was dropped", w.unit.Directive), nil
	}
	return nil, nil
}

func stopped(where string) *stop.Stop {
	return &stop.Stop{Kind: stop.Suspended, Why: "the file " + loop.StopPath + " is there, on " + where, Err: held(uow.Stopped)}
}

// begins registers a worker's gate, which is asked before each interaction (PLAN-10).
func (w *watch) begins(g *interaction.Gate, last *uow.Record) {
	g.Hold = func(ctx context.Context) error {
		if why := stop.As(context.Cause(ctx), stop.Suspended); why != nil {
			return why
		}
		why := w.due()
		if why == nil {
			return nil
		}
		if why.Kind == stop.Suspended { // whatever else is under way
			w.cancel(why)
		}
		return why
	}
	w.mu.Lock()
	w.gate, w.began = g, time.Now()
	w.sign = interaction.Sign{Unit: last.ID, Iteration: last.Iteration, Record: last.Hash}
	if w.lost.Iteration == last.Iteration {
		w.sign.Calls, w.sign.Seconds = w.lost.Calls, w.lost.Seconds
	}
	w.mu.Unlock()
	w.allow(last)
}

// live writes a sign of life.
func (w *watch) live() {
	w.mu.Lock()
	gate, sign, began := w.gate, w.sign, w.began
	w.mu.Unlock()
	if gate != nil {
		sign.Since(began, time.Now(), gate.Calls()).Write(w.state)
	}
}

// works registers the current worker, whose context this ends.
func (w *watch) works(end context.CancelCauseFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end = end
}

// allow reads from a record how many more interactions are allowed.
func (w *watch) allow(last *uow.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gate == nil {
		return
	}
	before := int64(w.sign.Calls)
	w.from, w.pulse, w.spin = w.gate.Calls(), -1, last.Policy.MaxInteractions-last.Calls-before
	if last.Policy.PilotPulse > 0 {
		w.pulse = max(1, last.Policy.PilotPulse-last.Pulse-before)
	}
}

// due is why the policy allows no more interactions now.
func (w *watch) due() *stop.Stop {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gate == nil {
		return nil
	}
	switch n := int64(w.gate.Calls() - w.from); {
	case w.pulse >= 0 && n >= w.pulse && n > 0:
		return &stop.Stop{Kind: stop.Suspended, Why: fmt.Sprintf("a sign of the PM is due (pilot_pulse): git ward uow %s %s", uow.Heartbeat.Typed(), w.unit), Err: held(uow.PulseIsDue)}
	case n >= w.spin:
		return stop.New(stop.Unfinished, "The tools were used %d times without progress, as often as the policy allows (max_interactions).", n)
	}
	return nil
}

// used is how many interactions are not in the journal yet.
func (w *watch) used() int64 {
	if w == nil {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return int64(w.sign.Calls + w.gate.Calls())
}
