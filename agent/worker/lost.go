package worker

import (
	"context"

	"git-ward/agent/cycle"
	"git-ward/agent/interaction"
	"git-ward/agent/stop"
	"git-ward/agent/store"
)

// lost is the transcript of runs before this one on the iteration in progress, where they could
// not leave it on the record; "" for none.
func (u *unit) lost() string { return interaction.LostWords(u.heard, u.journal.Records) }

// keepLost leaves that transcript on the record of a unit that nobody goes on with. The work is
// opened where it is nil. That it cannot be kept keeps no unit from its end.
func (u *unit) keepLost(ctx context.Context, w *store.Work) {
	words := u.lost()
	if words == "" {
		return
	}
	if err := u.leave(ctx, w, words); err != nil {
		u.log.Warn().Err(err).Str("unit", u.journal.ID.String()).Msg("what was said until the end is not kept")
	}
}

// leave pushes words. What the remote does not take is dropped, and named.
func (u *unit) leave(ctx context.Context, w *store.Work, words string) (err error) {
	if w == nil {
		if w, err = u.store.Work(ctx, u.directive); err != nil {
			return err
		}
		defer w.Close()
	}
	if w.Record == nil {
		if err := w.Begin(ctx, u.journal, u.earlier); err != nil {
			return err
		}
	}
	if err := cycle.KeepWords(ctx, w, u.journal, words); err != nil {
		return err
	}
	err = w.Offer(ctx)
	refused := stop.As(err, stop.Refused)
	if refused == nil || len(refused.Findings) == 0 {
		return err
	}
	u.log.Warn().Str("findings", refused.Output).Msg("what was said until the end was refused; it is left out")
	if err := w.Restart(ctx); err != nil {
		return err
	}
	return cycle.KeepWords(ctx, w, u.journal, "[not kept: the remote refused it: "+refused.Findings[0].Rule+"]")
}
