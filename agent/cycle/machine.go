package cycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"git-ward/agent/activity"
	"git-ward/agent/model"
	"git-ward/agent/stop"
	"git-ward/protocols/fsm"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// run is one run of the loop. What it holds beside its dependencies is read from
// refs when it begins, and kept in step with them.
type run struct {
	deps  *Loop
	state loop.State
	past  past
	now   iteration
	team  Team // nil until the first subagent is wanted
	calls int  // uses of tools since the journal's last record

	unpaid string     // why nobody pays for more work, where Limits do not say so; "" while somebody does
	block  uow.Reason // see End

	refused string // what became of work that the remote refused; "" where it refused none
}

// iteration is the iteration at hand, and after its end the last one of this run.
type iteration struct {
	taken   bool // it was begun, or taken up again, in this run
	brief   Brief
	began   time.Time
	calls   int  // uses of tools
	seconds int  // that it took before it was taken up
	paid    bool // its line is in the budget log
	solved  bool // a Solver was asked in this run
	result  Result
	tally   model.Tally // of the model, where somebody counted

	transcript string // so far
	forgotten  bool   // the remote refused it
	left       bool   // the iteration is not at its end
	stopped    bool   // the Solver came to no end of its own
	review     Review
	cert       *loop.Certificate // nil until it is decided
	before     past              // as it was when the iteration ended
}

// handler does what a state is there for. What it decides has an event of the
// machine; no event where a part of a handler leaves the decision to the rest.
type handler func(ctx context.Context) (loop.Decision, error)

// handlers is the table by which the machine is driven: one for each state that is
// no exit.
func (r *run) handlers() map[loop.State]handler {
	return map[loop.State]handler{
		loop.Init:                passes(loop.GoalRequest), // the directive on main
		loop.IntakeGoal:          passes(loop.IntakeDone),  // Declaration holds its text
		loop.NullCheck:           r.checkNull,
		loop.DreamGoal:           r.declare,
		loop.SpawnSubagent:       r.spawn,
		loop.CollectArtifacts:    r.collect,
		loop.CheckHalting:        r.checkHalting,
		loop.AccumulateLearnings: r.accumulate,
		loop.BudgetCheck:         r.checkBudget,
	}
}

func passes(on loop.Event) handler {
	return func(context.Context) (loop.Decision, error) { return loop.Decision{Event: on}, nil }
}

// drive goes from state to state until an exit.
func (r *run) drive(ctx context.Context) (End, error) {
	handlers := r.handlers()
	recovery, err := r.forbidden(ctx, r.state, "") // where refs say that it stands
	for err == nil && recovery.Event == "" {
		var d loop.Decision
		if d, err = handlers[r.state](ctx); err != nil {
			break
		}
		var exit loop.Status
		if exit, recovery, err = r.fire(ctx, d); err == nil && exit != "" {
			return r.exit(ctx, exit, d)
		}
	}
	if err != nil {
		return End{}, r.suspend(ctx, err)
	}
	return r.recover(ctx, recovery)
}

// suspend pushes what is written of an iteration that ended, where the loop is not to go
// on now: the next run need not ask anybody about it again. An iteration whose worker
// waits for something is left.
func (r *run) suspend(ctx context.Context, err error) error {
	if waiting := stop.As(err, slices.Collect(maps.Keys(waits))...); waiting != nil {
		return r.leave(ctx, waiting)
	}
	if stop.Is(err, stop.Suspended) && !r.deps.Journal.Holds() && r.deps.Journal.Last() != nil { // what is held takes it along
		if planning, bad := r.deps.Work.Planning(ctx); planning || bad != nil {
			return errors.Join(err, bad)
		}
		if failed := r.deps.Work.Offer(ctx); failed != nil {
			r.deps.Log.Warn().Err(failed).Msg("the evidence is not pushed; it is made again")
		}
	}
	return err
}

// fire makes the transition that a decision leads to. It returns the exit that the
// loop takes by it, or the recovery of a forbidden state that the loop is in by it,
// or neither.
func (r *run) fire(ctx context.Context, d loop.Decision) (exit loop.Status, recovery loop.Decision, err error) {
	to, err := loop.Next(r.state, d.Event)
	if err != nil {
		return "", recovery, err
	}
	exit, ends := to.Exit()
	if ends { // nothing leads out of it again: it is looked at before it is taken
		if recovery, err = r.forbidden(ctx, r.state, exit); err != nil || recovery.Event != "" {
			return "", recovery, err
		}
		return exit, recovery, r.logTransition(d, to)
	}
	if err := r.logTransition(d, to); err != nil {
		return "", recovery, err
	}
	r.state = to
	recovery, err = r.forbidden(ctx, to, "")
	return "", recovery, err
}

// recover ends the loop by the recovery of a forbidden state.
func (r *run) recover(ctx context.Context, recovery loop.Decision) (End, error) {
	to, err := loop.Next(r.state, recovery.Event)
	if err != nil {
		return End{}, err
	}
	exit, ends := to.Exit()
	if !ends {
		return End{}, fmt.Errorf("%s leads from %s to %s, which is no exit", recovery.Event, r.state, to)
	}
	if err := r.logTransition(recovery, to); err != nil {
		return End{}, err
	}
	if r.state == loop.CollectArtifacts { // what was made in a forbidden state is not taken
		if err := r.deps.Work.Restart(ctx); err != nil {
			return End{}, err
		}
	}
	return r.exit(ctx, exit, recovery)
}

// logTransition tells the log and the activity log of a transition, and why the
// loop ends by it.
func (r *run) logTransition(d loop.Decision, to loop.State) error {
	event := r.deps.Log.Info().Str("from", string(r.state)).Str("on", string(d.Event)).Str("to", string(to))
	if d.Words != "" {
		event = event.Str("why", d.Words)
	}
	event.Msg("loop")
	r.deps.Live.State(string(fsm.Loop), string(to), d.Words)
	if r.deps.Activity == nil {
		return nil
	}
	return r.deps.Activity.Append(activity.Transition(r.deps.Work.Directive.Name(), fsm.Loop, string(r.state), string(d.Event), string(to)))
}
