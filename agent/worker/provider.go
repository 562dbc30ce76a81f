package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"git-ward/agent/model"
	"git-ward/agent/model/anthropic"
	"git-ward/agent/model/openai"
	"git-ward/agent/stop"
	"git-ward/internal/config"
	"git-ward/internal/diag"
)

// checkProvider refuses settings with which no model could be asked.
func checkProvider(c *config.Config) error {
	if c.Model.ID == "" {
		return diag.Hint(fmt.Errorf("[model] name = %q needs [model] id, which is empty", c.Model.Name),
			"set it in <bare>/ward/config.toml to the model's name at the provider; what it costs is in [[prices]]")
	}
	if c.Model.MaxOutput >= c.Model.Context {
		return diag.Hint(fmt.Errorf("[model] max_output = %d leaves nothing of context = %d", c.Model.MaxOutput, c.Model.Context),
			"max_output is a part of context, in tokens")
	}
	return nil
}

// openProvider makes the model that the settings name. It is reached by the
// gateway alone, whose address and whose key, which is none, the forwarder put
// into the environment: no other key is ever here (SBX-7).
func (j *job) openProvider(provider config.Provider) (model.Model, error) {
	set := j.Config.Model
	var m model.Model
	switch provider {
	case config.Anthropic:
		base, err := gatewayURL("ANTHROPIC_BASE_URL")
		if err != nil {
			return nil, err
		}
		m = anthropic.New(anthropic.Options{BaseURL: base, Key: os.Getenv("ANTHROPIC_API_KEY"),
			ID: set.ID, Output: set.MaxOutput, Silence: set.Silence.Duration})
	default:
		base, err := gatewayURL("OPENAI_BASE_URL")
		if err != nil {
			return nil, err
		}
		o := openai.Options{BaseURL: base, Key: os.Getenv("OPENAI_API_KEY"),
			ID: set.ID, Output: set.MaxOutput, Silence: set.Silence.Duration}
		if set.API == "chat" {
			m = openai.NewChat(o)
		} else {
			m = openai.NewResponses(o)
		}
	}
	patient := &model.Patience{Model: m, Tries: set.Tries, Busy: set.Patience.Duration, Note: func(err error, wait time.Duration) {
		j.log.Warn().Err(err).Dur("wait_ms", wait).Msg("the model is asked again")
	}}
	return &model.Window{Model: patient, Tokens: set.Context, Output: set.MaxOutput}, nil
}

func gatewayURL(name string) (string, error) {
	if v := os.Getenv(name); v != "" {
		return v, nil
	}
	return "", diag.Hint(fmt.Errorf("%s is not set: there is no gateway to reach the model by", name), "start the agent by `git ward launch`")
}

// cutOff is what the model is told after a turn without calls that the limit on
// its output ended.
const cutOff = "Your last turn was cut off by the limit on its length. Go on from there. Write long files in several pieces."

// turn asks the model and adds its answer to the conversation.
func (c *conversation) turn(ctx context.Context) (model.Reply, error) {
	start := time.Now()
	reply, err := c.model.Turn(ctx, &c.talk)
	var trouble *model.Trouble
	switch {
	case errors.As(err, &trouble) && trouble.Kind == model.Spent:
		return reply, stop.New(stop.Spent, "The model is not paid for any more: %s.", diag.Clean(trouble.Error()))
	case errors.As(err, &trouble) && trouble.Kind == model.TooLong:
		return reply, stop.New(stop.Unfinished, "The conversation does not fit the model's context window any more: %s.", diag.Clean(err.Error()))
	case err != nil:
		return reply, fmt.Errorf("model %s: %w", c.Config.Model.Name, err)
	}
	if reply.Stop == model.Declined {
		declined := stop.New(stop.Unfinished, "The model, or its provider, refused to go on.")
		if reply.Text != "" {
			declined.Output = "It said:\n\n" + indent(reply.Text)
		}
		return reply, declined
	}
	c.talk.Messages = append(c.talk.Messages, model.Message{Role: model.Assistant, Text: reply.Text, Calls: reply.Calls, Native: reply.Native})
	c.tally.Turns++
	c.tally.Usage.Add(reply.Usage)
	if reply.Usage.Input > 0 {
		c.log.Info().Int("turn", c.talk.Turns()).Int64("input", reply.Usage.Input).Int64("cached", reply.Usage.Cached).
			Int64("output", reply.Usage.Output).Dur("ms", time.Since(start)).Msg("turn")
	}
	return reply, nil
}
