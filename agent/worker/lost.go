package worker

import (
	"context"

	"git-ward/agent/cycle"
	"git-ward/agent/interaction"
	"git-ward/agent/stop"
	"git-ward/agent/store"
)

// lost is the transcript of earlier runs on the current iteration that could not put it on the
// record; "" for none.
func (u *unit) lost() string { return interaction.LostWords(u.heard, u.journal.Records) }

// keepLost adds that transcript to the record of a unit that will not continue. It opens the
// work if nil. An error does not stop the unit's end.
func (u *unit) keepLost(ctx context.Context, w *store.Work) {
	words := u.lost()
	if words == "" {
		return
	}
	if err := u.pushTranscript(ctx, w, words); err != nil {
		u.log.Warn().Err(err).Str("unit", u.journal.ID.String()).Msg("what was said until the end is not kept")
	}
}

// pushTranscript pushes a transcript. If the remote refuses it, it is dropped, with a note.
func (u *unit) pushTranscript(ctx context.Context, w *store.Work, words string) (err error) {
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
