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

// run is one run of the loop. Apart from its dependencies, its state is read from refs at the
// start and kept equal to them.
type run struct {
	deps  *Loop
	state loop.State
	past  past
	now   iteration
	team  Team // nil before the first subagent
	calls int  // tool calls since the journal's last record

	subagents Subagents // that the team began

	unpaid string     // why a budget outside Limits is spent; "" if none is
	block  uow.Reason // see End

	refused string // what became of work that the remote refused; "" if it refused none
}

// iteration is the current iteration or, after its end, the last of this run.
type iteration struct {
	taken   bool // it was begun or resumed in this run
	brief   Brief
	began   time.Time
	calls   int  // uses of tools
	seconds int  // used before it was resumed
	paid    bool // it was written to the budget log
	solved  bool // a Solver was called in this run
	result  Result
	tally   model.Tally // the model's tokens, if counted

	transcript string // so far
	forgotten  bool   // the remote refused it
	left       bool   // the iteration is unfinished
	stopped    bool   // the Solver did not finish by itself
	missing    bool   // because a program that it needs is missing
	review     Review
	cert       *loop.Certificate // nil until decided
	before     past              // at the iteration's end
}

// handler does a state's work. It returns a decision whose event is one of the machine's; a
// part of a handler returns no event to leave the decision to the rest.
type handler func(ctx context.Context) (loop.Decision, error)

// handlers is the table that drives the machine: one for each state that is no exit.
func (r *run) handlers() map[loop.State]handler {
	return map[loop.State]handler{
		loop.Init:                passes(loop.GoalRequest), // the directive on main
		loop.IntakeGoal:          passes(loop.IntakeDone),  // Declaration contains its text
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
	recovery, err := r.forbidden(ctx, r.state, "") // the state according to refs
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

// suspend pushes the evidence of a completed iteration when the loop must not continue now, so
// that the next run need not compute it again. An iteration whose worker waits is left.
func (r *run) suspend(ctx context.Context, err error) error {
	if waiting := stop.As(err, slices.Collect(maps.Keys(waits))...); waiting != nil {
		return r.leave(ctx, waiting)
	}
	if stop.Is(err, stop.Suspended) && !r.deps.Journal.Holds() && r.deps.Journal.Last() != nil { // held steps take it along
		if planning, bad := r.deps.Work.Planning(ctx); planning || bad != nil {
			return errors.Join(err, bad)
		}
		if failed := r.deps.Work.Offer(ctx); failed != nil {
			r.deps.Log.Warn().Err(failed).Msg("the evidence is not pushed; it is made again")
		}
	}
	return err
}

// fire makes a decision's transition. It returns the exit that the loop takes, or the recovery
// of a forbidden state, or neither.
func (r *run) fire(ctx context.Context, d loop.Decision) (exit loop.Status, recovery loop.Decision, err error) {
	to, err := loop.Next(r.state, d.Event)
	if err != nil {
		return "", recovery, err
	}
	exit, ends := to.Exit()
	if ends { // nothing leads out of an exit: check before taking it
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

// recover ends the loop by a forbidden state's recovery.
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
	if r.state == loop.CollectArtifacts { // what was made in a forbidden state is discarded
		if err := r.deps.Work.Restart(ctx); err != nil {
			return End{}, err
		}
	}
	return r.exit(ctx, exit, recovery)
}

// logTransition logs a transition, also in the activity log, and why the loop ends by it.
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
