package worker

import (
	"context"
	"errors"

	"git-ward/agent/stop"
	"git-ward/protocols/uow"
)

// suspended interrupts a unit that may not continue now (WORK-3): the work so far is kept
// where it will continue, the journal says what the unit waits for unless the PM's own step
// does, and the PM is told once.
func (r *unitRun) suspended(ctx context.Context, why *stop.Stop) error {
	if r.watching != nil { // somebody worked
		if err := r.keep(ctx); err != nil {
			return err
		}
	}
	var reason held
	if !errors.As(why, &reason) {
		return nil
	}
	in := uow.Input{Event: uow.Block, Reason: uow.Reason(reason), Interactions: r.watching.used(), Note: why.Why}
	if in.Reason == uow.PulseIsDue {
		in.Event = uow.RequestApproval
	}
	if err := r.unit.step(ctx, in); err != nil {
		if again := stop.As(err, stop.Suspended); again != nil { // the PM was faster
			r.log.Warn().Msg(again.Why)
			return nil
		}
		return err
	}
	return nil
}

// keep pushes the work so far as the iteration's, without a claim. A refused tree does not
// keep the worker running.
//
// Plans' steps stay in the clone, and continue from there.
func (r *unitRun) keep(ctx context.Context) error {
	if planned, err := r.work.Stepping(ctx); planned || err != nil {
		return err
	}
	if _, err := r.work.Iterate(ctx, int(r.unit.last().Iteration), ""); err != nil {
		r.log.Warn().Err(err).Msg("what the worker has so far cannot be kept")
		return nil
	}
	offer := r.work.Offer
	if r.unit.journal.Holds() {
		offer = func(ctx context.Context) error { return r.unit.flush(ctx, r.work) }
	}
	err := offer(ctx)
	if refused := stop.As(err, stop.Refused); refused != nil {
		r.log.Warn().Str("findings", refused.Output).Msg("what the worker has so far was refused")
		return nil
	}
	return err
}
