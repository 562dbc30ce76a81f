package anthropic

import (
	"encoding/json"
	"fmt"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"git-ward/agent/model"
)

// answer collects a turn's events.
type answer struct {
	message sdk.Message
	inputs  map[int64]string // raw arguments of calls, by block
	whole   bool
}

// take adds an event. Raw arguments are kept as well, because the SDK turns invalid JSON into
// {}.
func (a *answer) take(event sdk.MessageStreamEventUnion) error {
	switch event.Type {
	case "content_block_delta":
		if event.Delta.Type == "input_json_delta" {
			a.inputs[event.Index] += event.Delta.PartialJSON
		}
	case "message_stop":
		a.whole = true
	}
	return a.message.Accumulate(event)
}

// reply is the complete turn.
func (a *answer) reply() (model.Reply, error) {
	m := a.message
	r := model.Reply{Usage: model.Usage{
		Input:  m.Usage.InputTokens + m.Usage.CacheReadInputTokens + m.Usage.CacheCreationInputTokens,
		Cached: m.Usage.CacheReadInputTokens, Output: m.Usage.OutputTokens,
	}}
	switch m.StopReason {
	case sdk.StopReasonMaxTokens:
		r.Stop = model.Truncated
	case sdk.StopReasonRefusal:
		r.Stop = model.Declined
	case sdk.StopReasonModelContextWindowExceeded:
		return model.Reply{}, &model.Trouble{Kind: model.TooLong, Err: fmt.Errorf("the provider stopped: %s", m.StopReason)}
	}
	var native []json.RawMessage
	for i, block := range m.Content {
		param := block.ToParam()
		switch block.Type {
		case "text":
			if block.Text == "" {
				continue // the API sends such blocks but does not accept them
			}
			r.AddText(block.Text)
		case "tool_use":
			last := i == len(m.Content)-1
			call := model.NewCall(block.ID, block.Name, a.inputs[int64(i)], r.Stop == model.Truncated && last)
			if r.Calls = append(r.Calls, call); call.Fault != "" {
				param = sdk.NewToolUseBlock(call.ID, call.Args, call.Name) // the API takes objects only
			}
		}
		raw, err := json.Marshal(param)
		if err != nil {
			return model.Reply{}, &model.Trouble{Kind: model.Broken, Err: err}
		}
		native = append(native, raw)
	}
	if len(native) > 0 {
		raw, err := json.Marshal(native)
		if err != nil {
			return model.Reply{}, err
		}
		r.Native = raw
	}
	return r, nil
}
