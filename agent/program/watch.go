package program

import (
	"context"

	"git-ward/agent/activity"
	"git-ward/agent/interaction"
	"git-ward/agent/model"
	"git-ward/agent/preset"
	"git-ward/internal/diag"
)

// maxAnswer bounds the part of a result from which secrets are removed before it is cut.
const maxAnswer = 8 << 10

// watch reads a command's stream: it counts, logs and limits each tool call.
type watch struct {
	program    *Program
	activity   *activity.Log
	end        context.CancelCauseFunc // ends the command
	ctx        context.Context
	transcript interaction.Transcript
	open       []preset.Event      // unanswered calls, the oldest first
	used       model.Usage         // usage so far, by the stream
	speech     *interaction.Speech // for an unknown stream format
}

// printed receives the output of a command with an unknown format and reports it live. The
// transcript is the complete output at the end.
func (w *watch) printed() *interaction.Speech {
	live := w.program.Live
	w.speech = interaction.NewSpeech(live.Said, w.program.Redact)
	return w.speech
}

// spent takes the stream's total usage.
func (w *watch) spent(total model.Usage) {
	more := model.Usage{Input: total.Input - w.used.Input, Cached: total.Cached - w.used.Cached, Output: total.Output - w.used.Output}
	if more.Input >= 0 && more.Output >= 0 { // the final total may differ from the parts' sum
		w.transcript.Used(more)
		w.used = total
	}
}

// told handles one event of the stream.
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

// answers removes and returns the call that a result belongs to.
func (w *watch) answers(answer preset.Event) preset.Event {
	for i, call := range w.open {
		if call.ID == answer.ID {
			w.open = append(w.open[:i], w.open[i+1:]...)
			return call
		}
	}
	return preset.Event{ID: answer.ID, Tool: answer.Tool}
}

// close records calls without a result.
func (w *watch) close() {
	if w.speech != nil {
		w.speech.Close()
	}
	for _, call := range w.open {
		w.answered(call, preset.Event{Text: "it ended without an answer", Failed: true})
	}
	w.open = nil
}

// answered records a tool call, also in the activity log (LOG-1).
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
