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

// watchEvery is how often a unit at work is looked after: what the PM stops is to be
// silent within two seconds (WORK-3), and most of them are the processes' to end.
const watchEvery = 250 * time.Millisecond

// signEvery is how many looks there are from one sign of life to the next.
const signEvery = 8

// held is why a unit is not to be gone on with, where the agent has to say so in the
// journal; the PM's own word stands there already.
type held uow.Reason

func (h held) Error() string { return string(h) }

// watch looks after a unit while somebody works on it. It ends the work's context when the
// PM takes the unit away (WORK-3): paused, ended, its text edited or gone, scratch/STOP, a
// sign of the PM that is due. It reads the remote itself, by stat while nothing moved, and
// touches neither the agent's clones nor its journal, which others use meanwhile.
type watch struct {
	bare     *git.Repo
	unit     uow.ID
	hash     string // of the directive's text that is worked on
	control  string // ref
	stopFile string // in the working tree; "" where it does not count
	stopSeen bool   // scratch/STOP was there before: the loop itself has it among its signals
	cancel   context.CancelCauseFunc
	done     chan struct{}

	state string           // the agent's own directory, where signs of life are left
	lost  interaction.Sign // of runs before this one, on the iteration in progress then

	mu    sync.Mutex
	sign  interaction.Sign // of the iteration at hand, as it began
	began time.Time
	end   context.CancelCauseFunc // of who works now
	gate  *interaction.Gate       // of who works now; nil: nobody
	from  int                     // calls of the gate that the journal, or the PM's last sign, has behind it
	pulse int64                   // interactions that may come until the PM's sign is due; -1: any number
	spin  int64                   // likewise until the unit is taken for one that spins
}

// watch begins to look after the unit. The context ends with a stop.Suspended; end ends
// the looking.
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
	unit, control := true, true // what came before this began is looked at, too
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
		if err == nil { // what could not be read is looked at again
			unit, control = false, false
		}
	}
}

// enough ends the work of who works now, and not the unit's.
func (w *watch) enough(why *stop.Stop) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end != nil {
		w.end(why)
	}
}

// look is why the work is to end, nil for nothing.
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

// unitSays looks at what the journal's newest record makes of the unit. The agent's own
// steps are no news.
func (w *watch) unitSays(r *git.Reader) (*stop.Stop, error) {
	last, err := state.Last(r, w.unit)
	switch {
	case err != nil || last == nil || last.Actor == uow.Agent:
		return nil, err
	case last.State != uow.Active:
		return stop.New(stop.Suspended, "%s is %s, by the %s: %s", w.unit, last.State, last.Actor, last.ReasonCode), nil
	}
	w.allow(last) // a sign of the PM
	return nil, nil
}

// controlSays looks at what the control branch says now.
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

// begins has a gate looked after: who works asks it before each interaction (PLAN-10).
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

// live leaves a sign of life.
func (w *watch) live() {
	w.mu.Lock()
	gate, sign, began := w.gate, w.sign, w.began
	w.mu.Unlock()
	if gate != nil {
		sign.Since(began, time.Now(), gate.Calls()).Write(w.state)
	}
}

// works says that somebody works from now on, whose context this is the end of.
func (w *watch) works(end context.CancelCauseFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end = end
}

// allow takes from a record how many interactions may come from now on.
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

// due is why there may be no more interactions now, by the policy.
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

// used is how many interactions the journal does not have yet.
func (w *watch) used() int64 {
	if w == nil {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return int64(w.sign.Calls + w.gate.Calls())
}
