package program

import (
	"context"
	"strings"

	"git-ward/agent/activity"
	"git-ward/agent/preset"
	"git-ward/internal/diag"
)

// watch reads what a command's stream tells of: each use of a tool is counted, logged,
// and held against what the iteration may.
type watch struct {
	program    *Program
	activity   *activity.Log
	end        context.CancelCauseFunc // ends the command
	ctx        context.Context
	transcript transcript
	open       []preset.Event // calls without an answer, the oldest first
	failed     []string       // uses of tools that failed, in words
}

// told takes one event of the stream.
func (w *watch) told(e preset.Event) {
	w.transcript.add(e)
	switch e.Kind {
	case preset.Called:
		p := w.program
		p.Log.Info().Str("tool", diag.Clean(e.Tool)).Str("arguments", diag.Clean(diag.Cut(e.Text, 200))).Msg("call")
		if err := p.Gate.Seen(w.ctx, e.Tool); err != nil {
			w.end(err)
		}
		w.open = append(w.open, e)
	case preset.Answered:
		w.log(w.answers(e), e)
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

// close logs the calls that no answer came to.
func (w *watch) close() {
	for _, call := range w.open {
		w.log(call, preset.Event{Text: "it ended without an answer", Failed: true})
	}
	w.open = nil
}

// log writes a use of a tool into the activity log (LOG-1).
func (w *watch) log(call, answer preset.Event) {
	e := activity.Entry{Phase: "EXECUTING", Task: activity.Task{ID: w.program.Prompt.Directive.Name()},
		Action:  activity.Action{Type: preset.Action(call.Tool), Details: map[string]any{"worker": w.program.name(), "tool": call.Tool, "arguments": call.Text}},
		Outcome: activity.Outcome{Status: activity.Success, Message: diag.Cut(answer.Text, maxEvent)}}
	if answer.Failed {
		e.Outcome = activity.Outcome{Status: activity.Failure, Error: diag.Cut(answer.Text, maxEvent)}
		first, _, _ := strings.Cut(strings.TrimSpace(answer.Text), "\n")
		w.failed = append(w.failed, diag.Cut(call.Tool+" "+call.Text, 200)+": "+diag.Cut(first, 200))
	}
	if err := w.activity.Append(e); err != nil {
		w.program.Log.Warn().Err(err).Msg("the activity log takes no line")
	}
}
