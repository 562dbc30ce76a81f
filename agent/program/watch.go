package program

import (
	"context"

	"git-ward/agent/activity"
	"git-ward/agent/interaction"
	"git-ward/agent/model"
	"git-ward/agent/preset"
	"git-ward/internal/diag"
)

// maxAnswer is how much of an answer the activity log takes secrets out of, in bytes, before
// it keeps less.
const maxAnswer = 8 << 10

// watch reads what a command's stream tells of: each use of a tool is counted, logged,
// and held against what the iteration may.
type watch struct {
	program    *Program
	activity   *activity.Log
	end        context.CancelCauseFunc // ends the command
	ctx        context.Context
	transcript interaction.Transcript
	open       []preset.Event      // calls without an answer, the oldest first
	used       model.Usage         // so far, as the stream tells
	speech     *interaction.Speech // of a command whose stream is not known
}

// printed is where a command prints to whose stream is not known: what it says is told as
// it comes. Its transcript is the whole of its output, at its end.
func (w *watch) printed() *interaction.Speech {
	live := w.program.Live
	w.speech = interaction.NewSpeech(live.Said, w.program.Redact)
	return w.speech
}

// spent takes the usage that the stream tells of, in all.
func (w *watch) spent(total model.Usage) {
	more := model.Usage{Input: total.Input - w.used.Input, Cached: total.Cached - w.used.Cached, Output: total.Output - w.used.Output}
	if more.Input >= 0 && more.Output >= 0 { // the end's own sum may be another than that of its parts
		w.transcript.Used(more)
		w.used = total
	}
}

// told takes one event of the stream.
func (w *watch) told(e preset.Event) {
	switch e.Kind {
	case preset.Said:
		w.transcript.Said(e.Text)
	case preset.Called:
		w.transcript.Called(e.Tool, e.Text)
		p := w.program
		p.Log.Info().Str("tool", diag.Clean(e.Tool)).Str("arguments", diag.Clean(diag.Cut(e.Text, 200))).Msg("call")
		if err := p.Gate.Seen(w.ctx, e.Tool); err != nil {
			w.end(err)
		}
		w.open = append(w.open, e)
	case preset.Answered:
		w.answered(w.answers(e), e)
	}
}

// answers takes the call out of the open ones that an answer belongs to.
func (w *watch) answers(answer preset.Event) preset.Event {
	for i, call := range w.open {
		if call.ID == answer.ID {
			w.open = append(w.open[:i], w.open[i+1:]...)
			return call
		}
	}
	return preset.Event{ID: answer.ID, Tool: answer.Tool}
}

// close takes down the calls that no answer came to.
func (w *watch) close() {
	if w.speech != nil {
		w.speech.Close()
	}
	for _, call := range w.open {
		w.answered(call, preset.Event{Text: "it ended without an answer", Failed: true})
	}
	w.open = nil
}

// answered takes a use of a tool down, in the activity log, too (LOG-1).
func (w *watch) answered(call, answer preset.Event) {
	w.transcript.Answered(call.Tool, call.Text, answer.Text, answer.Failed)
	e := activity.Entry{Phase: "EXECUTING", Task: activity.Task{ID: w.program.Prompt.Directive.Name()},
		Action:  activity.Action{Type: preset.Action(call.Tool), Details: map[string]any{"worker": w.program.name(), "tool": call.Tool, "arguments": call.Text}},
		Outcome: activity.Outcome{Status: activity.Success, Message: diag.Cut(answer.Text, maxAnswer)}}
	if answer.Failed {
		e.Outcome = activity.Outcome{Status: activity.Failure, Error: diag.Cut(answer.Text, maxAnswer)}
	}
	if err := w.activity.Append(e); err != nil {
		w.program.Log.Warn().Err(err).Msg("the activity log takes no line")
	}
}
