package worker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"git-ward/agent/model"
	"git-ward/internal/diag"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// tell reports once in COMMS.md what an interrupted unit waits for: the answer to a question,
// or a model. It only reads the journal, so the next run makes up for a killed one.
func (r *unitRun) tell(ctx context.Context) error {
	last := r.unit.last()
	switch {
	case last.State == uow.PendingApproval && last.ReasonCode == uow.Question:
		return r.deps.store.Ask(ctx, comms.NewQuestion{Time: time.Now(), Directive: last.Directive, Text: asks(last)})
	case last.State == uow.ZombiedSoft && last.ReasonCode == uow.TransientFailure:
		pause := last.RetryAfter(r.deps.config.Agent.RetryPause.Duration, r.deps.config.Agent.Poll.Duration)
		next := fmt.Sprintf("It is tried again by itself, the next time in %s; `%s` does it now.", pause, last.Next())
		if last.RetriesSpent() {
			next = fmt.Sprintf("It was tried %s. It waits for you: `%s`.", diag.Count(int(last.Retries), "time"), last.Next())
		}
		return r.outage(ctx, last.Note, next)
	case last.ReasonCode == uow.ModelDenied, last.ReasonCode == uow.NoTool, last.ReasonCode == uow.Stopped, last.ReasonCode == uow.PulseIsDue, last.State == uow.ZombiedDead, last.State == uow.Active && last.PulseDue():
		return r.deps.store.ReportOnce(ctx, "waits "+last.ID+" "+last.Hash[:12], comms.NewReport{Time: time.Now(), Directive: last.Directive,
			Status: comms.Info, Text: strings.TrimSpace(fmt.Sprintf("%s waits for %s.\n\n%s", last.ID, last.Waits(), diag.CleanLines(last.Note)))})
	}
	return nil
}

// asks is the worker's question, and how to answer it.
func asks(last *uow.Record) string {
	return last.Note + fmt.Sprintf("\n\nAsked by who works on %s, which waits for the answer:\n\n    %s\n\nAn edit of %s is an answer, too.", last.ID, last.Next(), last.Directive)
}

// outage reports a model that does not answer, once per incident: until the unit makes
// progress, or its last try has failed.
func (r *unitRun) outage(ctx context.Context, why, next string) error {
	last := r.unit.last()
	incident := fmt.Sprintf("outage %s iteration %d", last.ID, last.Iteration)
	if last.State == uow.ZombiedSoft && last.RetriesSpent() {
		incident += " given up"
	}
	return r.deps.store.ReportOnce(ctx, incident, comms.NewReport{Time: time.Now(), Directive: last.Directive, Status: comms.Info,
		Text: fmt.Sprintf("Backpressure (%s) on %s: %s\n\n%s", loop.RateLimit, last.ID, diag.CleanLines(why), next)})
}

// noticeable is how long a wait for the model may be before it is reported.
const noticeable = 30 * time.Second

// waits handles each wait for the model (model.Patience): the log gets all, the PM one per
// incident unless it is short.
func (r *unitRun) waits(ctx context.Context) func(model.Wait) {
	told, log := false, logWaits(r.log)
	return func(w model.Wait) {
		if log(w); told || w.Err == nil || w.Next.Sub(w.Since) < noticeable {
			return
		}
		told = true
		next := fmt.Sprintf("It is asked again by itself, for %s in all; what was done is kept.", r.deps.config.Model.Patience.Duration)
		if err := r.outage(ctx, "The model does not answer: "+diag.Clean(w.Err.Error()), next); err != nil {
			r.log.Warn().Err(err).Msg("the outage is not reported")
		}
	}
}

// instead reports a turn that another model took over, in the journal's next step and in the
// report.
func (r *unitRun) instead(text string) {
	r.log.Warn().Msg(text)
	if text = r.deps.clean(text); !strings.Contains(r.note, text) && len(r.note) < maxInstead {
		r.note = strings.TrimSpace(r.note + "\n" + text)
	}
}

// maxInstead bounds one journal step's text about that, in bytes.
const maxInstead = 4 << 10

// stoodIn lists the switches of the model, from the journal and for its next step.
func (r *unitRun) stoodIn() (list []string) {
	notes := []string{}
	for _, rec := range r.unit.journal.Records {
		notes = append(notes, rec.Note)
	}
	for _, note := range append(notes, r.note) {
		for line := range strings.SplitSeq(note, "\n") {
			if strings.HasPrefix(line, model.Instead) && !slices.Contains(list, line) {
				list = append(list, line)
			}
		}
	}
	return list
}

// logWaits logs each wait and its end.
func logWaits(log zerolog.Logger) func(model.Wait) {
	return func(w model.Wait) {
		if w.Err == nil {
			log.Info().Msg("the model is waited for no more")
			return
		}
		log.Warn().Err(w.Err).Time("since", w.Since).Time("next", w.Next).Msg("the model is asked again")
	}
}
