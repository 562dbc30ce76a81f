package cycle

import (
	"context"

	"git-ward/agent/stop"
	"git-ward/internal/diag"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// waits are the steps of the journal for what a worker may wait for.
var waits = map[stop.Kind]uow.Input{
	stop.Asked:  {Event: uow.RequestApproval, Reason: uow.Question},
	stop.Outage: {Event: uow.Block, Reason: uow.TransientFailure},
	stop.Denied: {Event: uow.Block, Reason: uow.ModelDenied},
	stop.Killed: {Event: uow.Block, Reason: uow.ProgramKilled},
}

// maxNote bounds what the journal says of what is waited for, in bytes.
const maxNote = 2 << 10

// leave puts down an iteration that its worker cannot end now, which is no exit of the
// loop. What it changed is pushed as work of the iteration, without a claim (of a plan that
// is executed it stays in the clone), and the journal says what the unit waits for. Once it is ACTIVE again the iteration is gone on
// with. The error is the stop; Suspended where the rules have something against the step.
func (r *run) leave(ctx context.Context, waiting *stop.Stop) error {
	in := waits[waiting.Kind]
	in.Note = diag.CleanLines(diag.Cut(r.deps.Work.Redact(waiting.Why), maxNote))
	d, refused, err := r.put(ctx, in)
	if refused != nil && r.forget(refused) {
		d, refused, err = r.put(ctx, in)
	}
	if refused != nil { // nothing of it moved: the step goes without what is not taken
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

// put commits what a Solver has so far, where it was one that worked, and makes the step.
// A plan that is executed stays as it is, in the clone: the next run goes on with it.
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
