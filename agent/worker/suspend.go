package worker

import (
	"context"
	"errors"

	"git-ward/agent/stop"
	"git-ward/protocols/uow"
)

// suspended leaves a unit that is not to be gone on with now (WORK-3): what the worker has
// so far is kept where it goes on from, the journal says what the unit waits for where the
// PM has not said it there, and the PM is told once.
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

// keep pushes what the worker has so far as work of the iteration, without a claim. A tree
// that the remote does not take is no reason to go on working.
//
// Steps of a plan are kept in the clone as they are, and gone on with from there.
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
