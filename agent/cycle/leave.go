package cycle

import (
	"context"

	"git-ward/agent/stop"
	"git-ward/internal/diag"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// waits are the journal's events for what a worker may wait for.
var waits = map[stop.Kind]uow.Input{
	stop.Asked:   {Event: uow.RequestApproval, Reason: uow.Question},
	stop.Outage:  {Event: uow.Block, Reason: uow.TransientFailure},
	stop.Denied:  {Event: uow.Block, Reason: uow.ModelDenied},
	stop.Killed:  {Event: uow.Block, Reason: uow.ProgramKilled},
	stop.Missing: {Event: uow.Block, Reason: uow.NoTool},
}

// Reason returns the reason code of the wait for a worker's end; "" if the unit does not wait.
func Reason(kind stop.Kind) uow.Reason { return waits[kind].Reason }

// maxNote bounds the journal's description of a wait, in bytes.
const maxNote = 2 << 10

// leave interrupts an iteration that its worker cannot finish now; it is no exit of the loop.
// Its changes are pushed as work of the iteration without a claim (the state of a running plan
// stays in the clone), and the journal says what the unit waits for. When the unit is ACTIVE
// again, the iteration continues. The error is the stop; Suspended if the rules refuse the
// step.
func (r *run) leave(ctx context.Context, waiting *stop.Stop) error {
	in := waits[waiting.Kind]
	in.Note = diag.CleanLines(diag.Cut(r.deps.Work.Redact(waiting.Why), maxNote))
	d, refused, err := r.put(ctx, in)
	if refused != nil && r.forget(refused) {
		d, refused, err = r.put(ctx, in)
	}
	if refused != nil { // nothing moved: send the step without the refused part
		r.deps.Log.Warn().Str("findings", refused.Output).Msg("what the worker has so far was refused; it is not kept")
		if err := r.deps.Work.Restart(ctx); err != nil {
			return err
		}
		d, refused, err = r.offer(ctx, in)
	}
	switch {
	case err != nil:
		return err
	case refused != nil:
		return refused
	case d.Event != "":
		return stop.New(stop.Suspended, "%s", d.Words)
	}
	return waiting
}

// put commits what a Solver has so far, if one worked, and makes the step. A running plan
// stays in the clone, and the next run continues it.
func (r *run) put(ctx context.Context, in uow.Input) (loop.Decision, *stop.Stop, error) {
	planning, err := r.deps.Work.Planning(ctx)
	if err != nil {
		return loop.Decision{}, nil, err
	}
	if planning {
		return r.offerWith(ctx, in)
	}
	if r.now.solved {
		_, err := r.deps.Work.Iterate(ctx, r.counted(r.now.brief.Iteration), "")
		if refused := stop.As(err, stop.Refused); refused != nil || err != nil {
			return loop.Decision{}, refused, err
		}
		if err := r.putTranscript(ctx); err != nil {
			return loop.Decision{}, nil, err
		}
	}
	return r.offer(ctx, in)
}
