package worker

import (
	"context"
	"time"

	"git-ward/agent/model"
	"git-ward/agent/stop"
	"git-ward/agent/tool"
	"git-ward/internal/diag"
	"git-ward/protocols/uow"
)

// conversation is a worker that takes turns: a model that calls tools.
type conversation struct {
	*job
	model   model.Model
	box     *tool.Box
	talk    model.Conversation
	words   string // the last ones of the model
	results string // what the last steps of the plan gave
	tally   tally
	limit   int        // of uses of tools in this conversation; 0 is none
	guard   *uow.Guard // holds the order of tools; nil allows any
}

// newConversation makes the prompt (AGT-2) and the tools.
func (j *job) newConversation(m model.Model, system string) *conversation {
	box := &tool.Box{
		Dir: j.work.Dir(), State: j.State, Env: j.store.Environ(), Repo: j.work,
		Timeout:    j.Config.Agent.BashTimeout.Duration,
		OutputSize: j.Config.Agent.OutputSize,
		WriteSize:  j.Config.Limits.BlobSize,
		Running:    j.work.Branch == j.Start.Branch,
	}
	return &conversation{job: j, model: m, box: box, talk: model.Conversation{
		System:    system,
		Directive: j.directive.Name(),
		Title:     j.directive.Title.String(),
		Plan:      planPath(j.directive.Name()),
		Tools:     box.Tools(),
		Messages:  []model.Message{{Role: model.User, Text: "Continue."}},
	}}
}

// do takes the directive from orientation to the model's last words.
func (c *conversation) do(ctx context.Context, refusal string) (string, error) {
	if refusal != "" { // of what was pushed last, after the plan
		if err := c.work.Restart(ctx); err != nil {
			return "", err
		}
	}
	o, err := c.newOrchestrator()
	if err != nil {
		return "", err
	}
	return o.run(ctx, refusal)
}

// turns lets the model take turns until it ends one without a call.
func (c *conversation) turns(ctx context.Context) (string, error) {
	for {
		if limit := c.Config.Agent.MaxTurns; c.talk.Turns() >= limit {
			return "", stop.New(stop.Unfinished, "The model did not end within %d turns ([agent] max_turns).", limit)
		}
		if c.limit > 0 && c.tally.Calls >= c.limit {
			return "", stop.New(stop.Unfinished, "The model used its tools %d times, as often as an iteration may (max_tool_calls_per_iteration).", c.tally.Calls)
		}
		reply, err := c.turn(ctx)
		if err != nil {
			return "", err
		}
		if reply.Text != "" {
			c.words = reply.Text
		}
		if len(reply.Calls) == 0 {
			if reply.Stop != model.Truncated {
				return c.words, nil
			}
			c.talk.Messages = append(c.talk.Messages, model.Message{Role: model.User, Text: cutOff})
			continue
		}
		results, err := c.calls(ctx, reply.Calls)
		if err != nil {
			return "", err
		}
		c.talk.Messages = append(c.talk.Messages, model.Message{Role: model.User, Results: results})
	}
}

// calls runs the calls of one turn, one after the other.
func (c *conversation) calls(ctx context.Context, calls []model.Call) ([]model.Result, error) {
	var results []model.Result
	for _, call := range calls {
		start := time.Now()
		result, err := tool.Result{Text: call.Fault, IsError: true}, error(nil)
		if blocked := c.guarded(call.Name); blocked != nil {
			result.Text = blocked.Error()
		} else if call.Fault == "" {
			result, err = tool.Call(ctx, c.talk.Tools, call.Name, call.Args)
		}
		if err != nil {
			return nil, err
		}
		c.tally.Calls++
		event := c.log.Info()
		if result.IsError {
			event = c.log.Warn().Str("result", excerpt(result.Text))
		}
		event.Int("turn", c.talk.Turns()).Str("tool", diag.Clean(call.Name)).Str("args", excerpt(string(call.Args))).
			Int("bytes", len(result.Text)).Dur("ms", time.Since(start)).Msg("call")
		results = append(results, model.Result{ID: call.ID, Result: result})
	}
	return results, nil
}

// guarded is a Guard block for a tool that is out of order (UOW-3).
func (c *conversation) guarded(name string) error {
	if c.guard == nil {
		return nil
	}
	err := c.guard.Call(name)
	if err != nil {
		c.log.Warn().Str("tool", diag.Clean(name)).Msg("Guard block")
	}
	return err
}

// excerpt keeps log lines readable; the whole is in the conversation.
func excerpt(s string) string {
	const size = 200
	if len(s) > size {
		s = s[:size] + "..."
	}
	return diag.Clean(s)
}
