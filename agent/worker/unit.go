package worker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"git-ward/agent/cycle"
	"git-ward/agent/interaction"
	"git-ward/agent/stop"
	"git-ward/agent/store"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/schedule"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// unit is one directive's unit of work: its journal, and the directive's loop declaration.
type unit struct {
	store     *store.Store
	config    *config.Config
	directive comms.Directive
	live      *interaction.Live
	heard     string // see deps
	log       zerolog.Logger

	journal     *store.Journal
	earlier     []*store.Journal // the directive's earlier units
	declaration loop.Declaration
	limits      loop.Limits
}

// open finds the directive's current unit, or makes the next one if the rules allow the agent
// to (UOW-2). A unit whose directive was edited during the work is ended, and its messages are
// left on the work's record.
func (u *unit) open(ctx context.Context, w *store.Work) error {
	journals, err := u.store.Journals(ctx, u.directive.Name())
	if err != nil {
		return err
	}
	id := uow.ID{Directive: u.directive.Name(), K: 1}
	if n := len(journals); n > 0 {
		u.journal, u.earlier = journals[n-1], journals[:n-1]
		id.K = u.journal.ID.K + 1
		last := u.journal.Last()
		edited := last.DirectiveHash != u.directive.Hash()
		stand := last.Stand(edited, false)
		if stand.By.Event == uow.Fail {
			u.keepLost(ctx, w)
			if err := u.step(ctx, stand.By); err != nil {
				return err
			}
			stand = u.last().Stand(edited, false)
		}
		if !edited || stand.When != uow.Never {
			u.declare()
			return nil
		}
		if err := u.putAway(ctx); err != nil {
			return err
		}
		u.earlier = journals
	}
	u.journal = u.store.NewJournal(id)
	u.declare()
	reason := uow.Reason("DIRECTIVE_OPEN")
	if id.K > 1 {
		reason = uow.DirectiveEdited
	}
	return u.hold(ctx, uow.Input{Event: uow.Open, Reason: reason}, uow.Started)
}

// putAway archives a unit that ended on an earlier text of its directive, because nobody
// continues it. One with a journal that somebody changed waits for the PM.
func (u *unit) putAway(ctx context.Context) error {
	last := u.journal.Last()
	if last.State == uow.Breached || last.State == uow.Archived {
		return nil
	}
	err := u.push(ctx, closing(last))
	if refused := stop.As(err, stop.Suspended); refused != nil { // the next unit must not depend on it
		u.log.Warn().Str("unit", last.ID).Msg(refused.Why)
		return nil
	}
	return err
}

func (u *unit) declare() {
	u.declaration, u.limits, _ = loop.Declare(u.journal.ID.String(), u.directive, loop.Base(u.config.Loop))
}

// last is the newest record of the unit.
func (u *unit) last() *uow.Record { return u.journal.Last() }

// world is main's current state (see uow.World).
func (u *unit) world(ctx context.Context) (uow.World, error) {
	main, err := u.store.Look(ctx)
	if err != nil {
		return uow.World{}, err
	}
	_, doc, err := main.Comms(ctx)
	if err != nil {
		return uow.World{}, err
	}
	m, err := state.ReadMain(main.Files(ctx), main.Commit, doc.Directive(u.directive.Name()), loop.Base(u.config.Loop))
	if err != nil {
		return uow.World{}, err
	}
	w := uow.World{Main: m}
	var all [][]*uow.Record
	for _, j := range u.earlier {
		all = append(all, j.Records)
		w.Last = j.Last()
	}
	m.Spent = uow.Spent(m.DirectiveHash, append(all, u.journal.Pushed())...)
	return w, nil
}

// step appends to the unit's journal, with a Work's content. A refusal by the units' rules
// suspends; the remote's refusal of the Work is stop.Refused.
func (u *unit) step(ctx context.Context, in uow.Input, with ...*store.Work) error {
	return u.push(ctx, []uow.Input{in}, with...)
}

// flush pushes held steps.
func (u *unit) flush(ctx context.Context, with ...*store.Work) error {
	if !u.journal.Holds() {
		return nil
	}
	return u.push(ctx, nil, with...)
}

func (u *unit) push(ctx context.Context, steps []uow.Input, with ...*store.Work) error {
	return u.steps(ctx, steps, func(steps []uow.Input, world uow.World) error {
		err := u.journal.Append(ctx, steps, world, with...)
		if refused := stop.As(err, stop.Refused); refused != nil && len(with) > 0 && !ofUnit(refused) {
			return refused
		}
		return u.admitted(err)
	})
}

// hold keeps steps for the journal's next push (see store.Journal.Hold).
func (u *unit) hold(ctx context.Context, steps ...uow.Input) error {
	return u.steps(ctx, steps, func(steps []uow.Input, world uow.World) error {
		return u.admitted(u.journal.Hold(steps, world))
	})
}

// admitted suspends if the units' rules refuse a step.
func (u *unit) admitted(err error) error {
	if refused := stop.As(err, stop.Refused); refused != nil {
		return stop.New(stop.Suspended, "the unit %s takes no such step: %s", u.journal.ID, refused.Output)
	}
	return err
}

// steps makes the agent's steps, as of now, and reports them.
func (u *unit) steps(ctx context.Context, steps []uow.Input, make func([]uow.Input, uow.World) error) error {
	world, err := u.world(ctx)
	if err != nil {
		return err
	}
	for i := range steps {
		steps[i].Actor, steps[i].Time = uow.Agent, time.Now()
	}
	known := len(u.journal.Records)
	if err := make(steps, world); err != nil {
		return err
	}
	for _, r := range u.journal.Records[known:] {
		u.live.State("uow", string(r.State), string(r.Event)+" "+string(r.ReasonCode))
		u.log.Info().Str("unit", r.ID).Str("event", string(r.Event)).Str("state", string(r.State)).Msg("unit of work")
	}
	return nil
}

// ofUnit reports whether a refusal is about the step itself.
func ofUnit(refused *stop.Stop) bool {
	return slices.ContainsFunc(refused.Findings, func(d diag.Diagnostic) bool { return strings.HasPrefix(d.Rule, "uow/") })
}

// activate makes the unit ACTIVE if the agent may (schedule.Rules.Resume).
func (r *unitRun) activate(ctx context.Context, stopFile string) error {
	u := r.unit
	last, rules := u.last(), rules(u.config, false)
	rules.Stop = stopFile != ""
	due, _, by := rules.Resume(last, u.directive.Hash())
	switch {
	case due != schedule.Now && last.ReasonCode == uow.Stopped:
		return stop.New(stop.Suspended, "the unit %s waits until the file %s is gone", last.ID, loop.StopPath)
	case due != schedule.Now || last.State != uow.Active && by.Event == "":
		return stop.New(stop.Suspended, "the unit is %s; git ward uow show %s says what it waits for", last.State, last.ID)
	case by.Event == "":
		if err := r.survives(ctx); err != nil || !u.stale() {
			return err
		}
		return u.sweep(ctx)
	case by.Event == uow.Exhaust:
		by.Note = last.Note // the report of its end says why
	}
	if err := u.step(ctx, by); err != nil || u.last().State == uow.Active {
		return err
	}
	return stop.New(stop.Suspended, "the unit is %s", u.last().State)
}

// stale reports whether a unit at work has been silent for long.
func (u *unit) stale() bool {
	last := u.last()
	at, err := time.Parse(time.RFC3339, last.Time)
	return err == nil && !last.PulseDue() && time.Since(at) > u.config.Agent.Stale.Duration
}

// sweep records that a worker left the unit, with its use, and resumes it without spending a
// retry.
func (u *unit) sweep(ctx context.Context) error {
	lost := interaction.Lost(u.store.State, u.journal.Records)
	note := fmt.Sprintf("no sign of an agent since %s", u.last().Time)
	if err := u.step(ctx, uow.Input{Event: uow.Block, Reason: uow.Stale, Interactions: int64(lost.Calls), Note: note}); err != nil {
		return err
	}
	return u.step(ctx, uow.Input{Event: uow.Retry, Reason: uow.CauseGone})
}

// exitStep is the step that the halting report calls for (UOW-1). The reason is the loop's for
// an EXIT_BLOCKED if it has one, else the report's. It returns false if an earlier run has
// made it.
func (u *unit) exitStep(end cycle.End) (uow.Input, bool, error) {
	r, blocked := end.Report, end.Block
	event, reason, ok := uow.Exit(string(r.Status))
	if !ok {
		return uow.Input{}, false, fmt.Errorf("%s is no exit", r.Status)
	}
	reason = cmp.Or(blocked, r.StopReason.Step(reason))
	return uow.Input{Event: event, Reason: reason, Interactions: int64(end.Calls), Note: end.Note}, u.last().Event != event, nil
}

// exit makes that step, once.
func (u *unit) exit(ctx context.Context, end cycle.End, with ...*store.Work) error {
	in, ahead, err := u.exitStep(end)
	if err != nil || !ahead {
		return err
	}
	return u.step(ctx, in, with...)
}
