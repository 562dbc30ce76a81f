// Package session runs one model: it asks for turns, runs the tool calls, and counts the
// usage, until a turn has no call or a limit is reached.
package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"git-ward/agent/interaction"
	"git-ward/agent/model"
	"git-ward/agent/stop"
	"git-ward/agent/tool"
	"git-ward/internal/diag"
)

// Session is one conversation. It is not safe for concurrent use.
type Session struct {
	Model    model.Model
	Name     string             // the settings' name of the model, for errors
	Talk     model.Conversation // what the model sees, including its tools
	MaxTurns int                // turns of the model in total
	Gate     *interaction.Gate  // called before each turn and call; nil allows all
	Log      zerolog.Logger
	Tally    model.Tally // of what it did so far

	Transcript *interaction.Transcript // of everything in the conversation; may be nil

	words   string // the model's last text
	said    string // likewise, of the newest Run
	repeats repeats
}

// Tell adds a message of the user to the conversation, with its event.
func (s *Session) Tell(on model.Event, text string) {
	s.Transcript.Told(text)
	s.Talk.Messages = append(s.Talk.Messages, model.Message{Role: model.User, On: on, Text: text})
}

// Open begins the conversation (AGT-2): "Continue.", and the capsule of an iteration where
// there is one, at its path in the working tree.
func (s *Session) Open(iteration int, path string, capsule []byte) {
	s.Tell("", "Continue.")
	if capsule != nil {
		s.Brief(iteration, path, capsule)
	}
}

// Brief gives the model the capsule of an iteration as the result of a call that is
// put into its mouth: the prompt itself stays SYSTEM.md and COMMS.md (LOOP-3). The
// path is the capsule's in the working tree.
func (s *Session) Brief(iteration int, path string, capsule []byte) {
	const id = "capsule"
	args, _ := json.Marshal(map[string]string{"path": path}) // a string always encodes
	s.Talk.Iteration = iteration
	s.Talk.Messages = append(s.Talk.Messages,
		model.Message{Role: model.Assistant, Briefing: true, Calls: []model.Call{{ID: id, Name: "read_file", Args: args}}},
		model.Message{Role: model.User, Results: []model.Result{{ID: id, Result: tool.Result{Text: string(capsule)}}}})
}

// Told is everything that the model was told besides the system prompt.
func (s *Session) Told() string {
	var told strings.Builder
	for _, m := range s.Talk.Messages {
		told.WriteString(m.Text + "\n")
		for _, r := range m.Results {
			told.WriteString(r.Text + "\n")
		}
	}
	return told.String()
}

// Run lets the model take turns until it ends one without a call, and returns the
// last words that it said in the whole session. The error is stop.Unfinished or
// Spent where a bound, the model or its provider ended it, and stop.Restart where a
// tool did.
func (s *Session) Run(ctx context.Context) (words string, err error) {
	s.said = ""
	for {
		if err := s.bounded(ctx); err != nil {
			return "", err
		}
		reply, err := s.turn(ctx)
		if err != nil {
			return "", err
		}
		if reply.Text != "" {
			s.words, s.said = reply.Text, reply.Text
		}
		switch {
		case len(reply.Calls) > 0:
			results, err := s.answer(ctx, reply.Calls)
			if err != nil {
				return "", err
			}
			s.Talk.Messages = append(s.Talk.Messages, model.Message{Role: model.User, Results: results})
		case reply.Stop == model.Truncated:
			s.Tell("", cutOff)
		default:
			return s.words, nil
		}
	}
}

// Said is the last words of the newest Run, "" if it had none.
func (s *Session) Said() string { return s.said }

// cutOff tells the model that the output limit ended its turn before any call.
const cutOff = "Your last turn was cut off by the limit on its length. Go on from there. Write long files in several pieces."

// bounded is the end of a session that has used up its turns or calls, or is held.
func (s *Session) bounded(ctx context.Context) error {
	if s.Talk.Turns() >= s.MaxTurns {
		return stop.New(stop.Unfinished, "The model did not end within %d turns ([agent] max_turns).", s.MaxTurns)
	}
	return s.Gate.Turn(ctx)
}

// turn asks the model and appends its answer to the conversation.
func (s *Session) turn(ctx context.Context) (model.Reply, error) {
	start := time.Now()
	reply, err := s.Model.Turn(ctx, &s.Talk)
	if err != nil {
		return reply, s.ended(err)
	}
	if reply.Text != "" {
		s.Transcript.Said(reply.Text)
	}
	if reply.Stop == model.Declined {
		declined := stop.New(stop.Unfinished, "The model, or its provider, refused to go on.")
		if reply.Text != "" {
			declined.Output = "It said:\n\n" + diag.Indent(reply.Text)
		}
		return reply, declined
	}
	s.Talk.Messages = append(s.Talk.Messages, model.Message{Role: model.Assistant, Text: reply.Text, Calls: reply.Calls, Native: reply.Native})
	s.Tally.Turns++
	s.Tally.Usage.Add(reply.Usage)
	s.Transcript.Used(reply.Usage)
	if reply.Usage.Input > 0 {
		s.Log.Info().Int("turn", s.Talk.Turns()).Int64("input", reply.Usage.Input).Int64("cached", reply.Usage.Cached).
			Int64("output", reply.Usage.Output).Dur("ms", time.Since(start)).Msg("turn")
	}
	return reply, nil
}

// ended maps a permanent failure of a turn to a stop, by who can fix it. Any other error is
// the agent's own trouble.
func (s *Session) ended(err error) error {
	var trouble *model.Trouble
	if !errors.As(err, &trouble) {
		return fmt.Errorf("model %s: %w", s.Name, err)
	}
	end := endings[trouble.Kind]
	return stop.New(end.kind, end.why, diag.Clean(err.Error()))
}

// endings say for each kind of trouble who can fix it.
var endings = map[model.Kind]struct {
	kind stop.Kind
	why  string
}{
	model.Fatal:    {stop.Denied, "The model cannot be asked: %s"},
	model.Absent:   {stop.Denied, "The model cannot be asked: %s"},
	model.Rejected: {stop.Unfinished, "The model's provider does not take the conversation: %s."},
	model.Broken:   {stop.Outage, "The model's answers are broken: %s"},
	model.Busy:     {stop.Outage, "The model does not answer: %s"},
	model.TooLong:  {stop.Unfinished, "The conversation does not fit the model's context window any more: %s."},
	model.Spent:    {stop.Spent, "The model is not paid for any more: %s."},
	model.Held:     {stop.Suspended, "The unit is not to be worked on now: %s"},
}

// answer runs a turn's calls in order.
func (s *Session) answer(ctx context.Context, calls []model.Call) ([]model.Result, error) {
	var results []model.Result
	for _, call := range calls {
		start := time.Now()
		s.Transcript.Called(call.Name, string(call.Args))
		result, err := s.call(ctx, call)
		if err != nil {
			return nil, err
		}
		if result, err = s.repeats.look(call, result); err != nil {
			s.Log.Warn().Str("tool", diag.Clean(call.Name)).Msg("Guard block: no progress")
			return nil, err
		}
		s.Transcript.Answered(call.Name, string(call.Args), result.Text, result.IsError)
		s.Tally.Calls++
		event := s.Log.Info()
		if result.IsError {
			event = s.Log.Warn().Str("result", excerpt(result.Text))
		}
		event.Int("turn", s.Talk.Turns()).Str("tool", diag.Clean(call.Name)).Str("args", excerpt(string(call.Args))).
			Int("bytes", len(result.Text)).Dur("ms", time.Since(start)).Msg("call")
		results = append(results, model.Result{ID: call.ID, Result: result})
	}
	return results, nil
}

// call runs one call, unless the Guard or the call itself is at fault.
func (s *Session) call(ctx context.Context, call model.Call) (tool.Result, error) {
	if err := s.Gate.Next(ctx, call.Name); stop.Of(err) != nil {
		return tool.Result{}, err
	} else if err != nil {
		s.Log.Warn().Str("tool", diag.Clean(call.Name)).Msg("Guard block")
		return tool.Result{Text: err.Error(), IsError: true}, nil
	}
	if call.Fault != "" {
		return tool.Result{Text: call.Fault, IsError: true}, nil
	}
	return tool.Call(ctx, s.Talk.Tools, call.Name, call.Args)
}

// excerpt shortens log lines; the conversation has the whole text.
func excerpt(s string) string { return diag.Clean(diag.Cut(s, 200)) }
