package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
)

// chat is OpenAI's Chat Completions API, which most local servers speak too.
var chat = &api{name: "chat", read: readChat, events: chatEvents, whole: wholeChat,
	fault: openAIFault,
	stream: func(f Fault) event {
		return event{"", encode(openAIFault(Fault{Type: f.Error, Message: "stand-in: " + f.Error}))}
	}}

func openAIFault(f Fault) any {
	return object{"error": object{"message": f.Message, "type": f.Type, "param": nil, "code": f.Type}}
}

type chatRequest struct {
	Model  string `json:"model"`
	Stream bool   `json:"stream"`
	Tools  []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
	Messages []struct {
		Role      string          `json:"role"`
		Content   json.RawMessage `json:"content"`
		ToolCalls []struct {
			ID       string `json:"id"`
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tool_calls"`
		ToolCallID string `json:"tool_call_id"`
	} `json:"messages"`
}

func readChat(body []byte, r *Request) error {
	var c chatRequest
	if err := json.Unmarshal(body, &c); err != nil {
		return err
	}
	r.Model, r.Stream = c.Model, c.Stream
	for _, t := range c.Tools {
		r.Tools = append(r.Tools, t.Function.Name)
	}
	if c.Model == "" || len(c.Messages) == 0 {
		return errors.New("model and messages are required")
	}
	open := map[string]bool{}
	for i, m := range c.Messages {
		if m.Role != "tool" && len(open) > 0 {
			return fmt.Errorf("messages[%d]: tool_calls without tool messages before", i)
		}
		switch m.Role {
		case "system", "developer":
			r.System += texts(m.Content)
		case "user":
			r.User, r.Told = r.User+texts(m.Content)+"\n", r.Told+texts(m.Content)+"\n"
		case "assistant":
			r.Turns++
			r.Results, r.User = nil, ""
			for _, call := range m.ToolCalls {
				open[call.ID], r.Made = true, append(r.Made, call.Function.Name)
			}
		case "tool":
			if !open[m.ToolCallID] {
				return fmt.Errorf("messages[%d]: no call has the id %q", i, m.ToolCallID)
			}
			delete(open, m.ToolCallID)
			r.Results = append(r.Results, Result{m.ToolCallID, texts(m.Content)})
		}
	}
	if len(open) > 0 {
		return errors.New("tool_calls without tool messages")
	}
	return nil
}

func chatUsage(t Turn) object {
	return object{"prompt_tokens": t.Input, "completion_tokens": t.Output, "total_tokens": t.Input + t.Output,
		"prompt_tokens_details": object{"cached_tokens": t.Cached}}
}

func (t Turn) finishReason() string {
	switch {
	case t.Stop == Truncated:
		return "length"
	case t.Stop == Refused:
		return "content_filter"
	case len(t.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func chatEvents(r *Request, t Turn) []event {
	chunk := func(choices []any, usage any) event {
		return event{"", encode(object{"id": fmt.Sprintf("chatcmpl-%d", r.N), "object": "chat.completion.chunk", "created": 1, "model": r.Model,
			"choices": choices, "usage": usage})}
	}
	delta := func(d object, finish any) event {
		return chunk([]any{object{"index": 0, "delta": d, "finish_reason": finish}}, nil)
	}
	list := []event{delta(object{"role": "assistant", "content": ""}, nil)}
	for _, p := range pieces(t.Text) {
		list = append(list, delta(object{"content": p}, nil))
	}
	for i, c := range t.Calls {
		list = append(list, delta(object{"tool_calls": []any{object{"index": i, "id": c.ID, "type": "function",
			"function": object{"name": c.Name, "arguments": ""}}}}, nil))
		for _, p := range pieces(c.Args) {
			list = append(list, delta(object{"tool_calls": []any{object{"index": i, "function": object{"arguments": p}}}}, nil))
		}
	}
	return append(list, delta(object{}, t.finishReason()), chunk([]any{}, chatUsage(t)), event{"", []byte("[DONE]")})
}

func wholeChat(r *Request, t Turn) any {
	m := object{"role": "assistant", "content": t.Text}
	var calls []any
	for _, c := range t.Calls {
		calls = append(calls, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Args}})
	}
	if calls != nil {
		m["tool_calls"] = calls
	}
	return object{"id": fmt.Sprintf("chatcmpl-%d", r.N), "object": "chat.completion", "created": 1, "model": r.Model,
		"choices": []any{object{"index": 0, "message": m, "finish_reason": t.finishReason()}}, "usage": chatUsage(t)}
}
