package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// object is a JSON object.
type object = map[string]any

// messages is Anthropic's Messages API.
var messages = &api{name: "messages", read: readMessages, events: messageEvents, whole: wholeMessage,
	fault: messageFault,
	stream: func(f Fault) event {
		return named(messageFault(Fault{Type: f.Error, Message: "stand-in: " + f.Error}), "error")
	}}

// signature proves that thinking came back unchanged.
const signature = "stand-in-signature"

type messagesRequest struct {
	Model     string          `json:"model"`
	MaxTokens int64           `json:"max_tokens"`
	Stream    bool            `json:"stream"`
	System    json.RawMessage `json:"system"`
	Tools     []struct {
		Name string `json:"name"`
	} `json:"tools"`
	Messages []message `json:"messages"`
}

type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Cache     *object         `json:"cache_control"`
}

func (m message) blocks() []block {
	var list []block
	if json.Unmarshal(m.Content, &list) != nil {
		list = []block{{Type: "text", Text: texts(m.Content)}}
	}
	return list
}

// readMessages is also as strict as the API is about results: each call of a
// turn has one in the next message, and there are no others.
func readMessages(body []byte, r *Request) error {
	var m messagesRequest
	if err := json.Unmarshal(body, &m); err != nil {
		return err
	}
	r.Model, r.Stream, r.System = m.Model, m.Stream, texts(m.System)
	for _, t := range m.Tools {
		r.Tools = append(r.Tools, t.Name)
	}
	switch {
	case m.Model == "" || m.MaxTokens < 1:
		return errors.New("model and max_tokens are required")
	case len(m.Messages) == 0 || m.Messages[0].Role != "user":
		return errors.New("messages: the first one is the user's")
	case strings.Count(string(body), `"cache_control":{`) > 4:
		return errors.New("at most 4 blocks with cache_control")
	}
	open := map[string]bool{}
	r.called = map[string]bool{}
	for i, msg := range m.Messages {
		if err := r.message(msg, open); err != nil {
			return fmt.Errorf("messages.%d: %w", i, err)
		}
	}
	if len(open) > 0 {
		return errors.New("tool_use without tool_result")
	}
	return nil
}

// message takes one of the conversation; open are the calls that want a result.
func (r *Request) message(m message, open map[string]bool) error {
	blocks := m.blocks()
	if len(blocks) == 0 {
		return errors.New("empty content")
	}
	if m.Role == "assistant" {
		if len(open) > 0 {
			return errors.New("tool_use without tool_result")
		}
		r.Turns++
		r.Results, r.User = nil, ""
	}
	for _, b := range blocks {
		switch {
		case b.Type == "text" && b.Text == "":
			return errors.New("text content blocks must be non-empty")
		case b.Type == "text" && m.Role != "assistant":
			r.User, r.Told = r.User+b.Text+"\n", r.Told+b.Text+"\n"
		case b.Type == "tool_use":
			var input object
			if json.Unmarshal(b.Input, &input) != nil || input == nil {
				return errors.New("tool_use.input: not an object")
			}
			if open[b.ID] = true; !r.called[b.ID] { // early releases of Claude Code send a turn of several parts twice
				r.called[b.ID], r.Made = true, append(r.Made, b.Name)
			}
		case b.Type == "tool_result":
			if !open[b.ToolUseID] {
				return fmt.Errorf("unexpected tool_use_id %q", b.ToolUseID)
			}
			delete(open, b.ToolUseID)
			r.Results = append(r.Results, Result{b.ToolUseID, texts(b.Content)})
		case b.Type == "thinking" && b.Signature != signature:
			return errors.New("thinking: invalid signature")
		}
	}
	if m.Role == "user" && len(open) > 0 {
		return errors.New("tool_use ids were found without tool_result blocks immediately after")
	}
	return nil
}

func messageUsage(t Turn) object {
	return object{"input_tokens": t.Input - t.Cached, "output_tokens": t.Output,
		"cache_read_input_tokens": t.Cached, "cache_creation_input_tokens": 0}
}

func (t Turn) stopReason() string {
	switch {
	case t.Stop == Truncated:
		return "max_tokens"
	case t.Stop == Refused:
		return "refusal"
	case len(t.Calls) > 0:
		return "tool_use"
	}
	return "end_turn"
}

func messageFault(f Fault) any {
	return object{"type": "error", "error": object{"type": f.Type, "message": f.Message}, "request_id": "req_stand_in"}
}

// named makes an event of an object with a type of its own.
func named(v any, name string) event { return event{name, encode(v)} }

// messageEvents is the order of the API's streams: message_start, each block's
// start, deltas and stop, message_delta, message_stop.
func messageEvents(r *Request, t Turn) []event {
	start := t
	start.Output = 1
	list := []event{named(object{"type": "message_start", "message": object{
		"id": fmt.Sprintf("msg_%d", r.N), "type": "message", "role": "assistant", "model": r.Model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": messageUsage(start),
	}}, "message_start")}
	index := 0
	add := func(start object, deltas ...object) {
		list = append(list, named(object{"type": "content_block_start", "index": index, "content_block": start}, "content_block_start"))
		for _, d := range deltas {
			list = append(list, named(object{"type": "content_block_delta", "index": index, "delta": d}, "content_block_delta"))
		}
		list = append(list, named(object{"type": "content_block_stop", "index": index}, "content_block_stop"))
		index++
	}
	if t.Thinking != "" {
		add(object{"type": "thinking", "thinking": "", "signature": ""},
			object{"type": "thinking_delta", "thinking": t.Thinking}, object{"type": "signature_delta", "signature": signature})
	}
	if t.Text != "" {
		var deltas []object
		for _, p := range pieces(t.Text) {
			deltas = append(deltas, object{"type": "text_delta", "text": p})
		}
		add(object{"type": "text", "text": ""}, deltas...)
	}
	for _, c := range t.Calls {
		deltas := []object{{"type": "input_json_delta", "partial_json": ""}}
		for _, p := range pieces(c.Args) {
			deltas = append(deltas, object{"type": "input_json_delta", "partial_json": p})
		}
		add(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}, deltas...)
	}
	return append(list,
		named(object{"type": "message_delta", "delta": object{"stop_reason": t.stopReason(), "stop_sequence": nil},
			"usage": object{"output_tokens": t.Output}}, "message_delta"),
		named(object{"type": "message_stop"}, "message_stop"))
}

func wholeMessage(r *Request, t Turn) any {
	content := []any{}
	if t.Text != "" {
		content = append(content, object{"type": "text", "text": t.Text})
	}
	for _, c := range t.Calls {
		content = append(content, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": json.RawMessage(c.Args)})
	}
	return object{"id": fmt.Sprintf("msg_%d", r.N), "type": "message", "role": "assistant", "model": r.Model, "content": content,
		"stop_reason": t.stopReason(), "stop_sequence": nil, "usage": messageUsage(t)}
}
