package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"git-ward/agent/model"
	"git-ward/agent/store"
	"git-ward/agent/tool"
	"git-ward/internal/diag"
)

// converse lets the model take turns until it ends one without a call.
func (j *job) converse(ctx context.Context) error {
	for {
		if j.talk.Turns() >= j.Config.Agent.MaxTurns {
			return j.tooLong(ctx)
		}
		reply, err := j.model.Turn(ctx, &j.talk)
		if err != nil {
			return fmt.Errorf("model %s: %w", j.Config.Model.Name, err)
		}
		if reply.Text != "" {
			j.lastWords = reply.Text
		}
		j.talk.Messages = append(j.talk.Messages, model.Message{Role: model.Assistant, Text: reply.Text, Calls: reply.Calls})
		if len(reply.Calls) == 0 {
			return nil
		}
		results, err := j.calls(ctx, reply.Calls)
		if err != nil {
			return err
		}
		j.talk.Messages = append(j.talk.Messages, model.Message{Role: model.User, Results: results})
	}
}

// calls runs the calls of one turn, one after the other.
func (j *job) calls(ctx context.Context, calls []model.Call) ([]model.Result, error) {
	var results []model.Result
	for _, call := range calls {
		start := time.Now()
		result, err := tool.Call(ctx, j.talk.Tools, call.Name, call.Args)
		if err != nil {
			return nil, err
		}
		event := j.log.Info()
		if result.IsError {
			event = j.log.Warn().Str("result", excerpt(result.Text))
		}
		event.Int("turn", j.talk.Turns()).Str("tool", diag.Clean(call.Name)).Str("args", excerpt(string(call.Args))).
			Int("bytes", len(result.Text)).Dur("ms", time.Since(start)).Msg("call")
		results = append(results, model.Result{ID: call.ID, Result: result})
	}
	return results, nil
}

// excerpt keeps log lines readable; the whole is in the conversation.
func excerpt(s string) string {
	const size = 200
	if len(s) > size {
		s = s[:size] + "..."
	}
	return diag.Clean(s)
}

// tooLong ends a model that does not end by itself. What it has so far is pushed,
// without the trailers of finished work, if the remote takes it.
func (j *job) tooLong(ctx context.Context) error {
	kept := fmt.Sprintf("What it had so far is on %s.", j.work.Branch)
	err := j.work.Publish(ctx, "Unfinished: the model was stopped.", false)
	var refused *store.Refused
	switch {
	case errors.As(err, &refused):
		kept = "What it had so far was refused:\n\n" + indent(refused.Text)
	case err != nil:
		return err
	}
	return &blocked{fmt.Sprintf("The model did not end within %d turns ([agent] max_turns). %s\n", j.Config.Agent.MaxTurns, kept)}
}
