package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// responses is OpenAI's Responses API, used without storing: the client sends
// the whole conversation each time.
var responses = &api{name: "responses", read: readResponses, events: responseEvents, whole: func(r *Request, t Turn) any { return wholeResponse(r, t) },
	fault: openAIFault,
	stream: func(f Fault) event {
		return named(object{"type": "error", "code": f.Error, "message": "stand-in: " + f.Error, "param": nil, "sequence_number": 1}, "error")
	}}

type responsesRequest struct {
	Model        string          `json:"model"`
	Stream       bool            `json:"stream"`
	Store        *bool           `json:"store"`
	Instructions string          `json:"instructions"`
	Input        json.RawMessage `json:"input"`
	Tools        []responsesTool `json:"tools"`
}

// responsesTool is a tool, or a group of them.
type responsesTool struct {
	Type  string          `json:"type"`
	Name  string          `json:"name"`
	Tools []responsesTool `json:"tools"`
}

type item struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Name      string          `json:"name"`
	CallID    string          `json:"call_id"`
	Output    json.RawMessage `json:"output"`
	Encrypted string          `json:"encrypted_content"`
	Tools     []responsesTool `json:"tools"` // of additional_tools
}

func readResponses(body []byte, r *Request) error {
	var q responsesRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return err
	}
	r.Model, r.Stream, r.System = q.Model, q.Stream, q.Instructions
	r.takeTools(q.Tools)
	if q.Model == "" || len(q.Input) == 0 {
		return errors.New("model and input are required")
	}
	var items []item
	if json.Unmarshal(q.Input, &items) != nil {
		r.User = texts(q.Input)
		return nil
	}
	called, answered := map[string]bool{}, map[string]bool{}
	model := false // whether the item before was the model's
	for i, it := range items {
		mine := it.Type == "function_call" || it.Type == "custom_tool_call" || it.Type == "reasoning" || it.Role == "assistant"
		if mine && !model {
			r.Turns++
			r.Results, r.User = nil, ""
		}
		model = mine
		r.takeTools(it.Tools)
		switch {
		case it.Type == "reasoning" && it.Encrypted != signature:
			return fmt.Errorf("input[%d]: the encrypted content could not be verified", i)
		case it.Type == "function_call" || it.Type == "custom_tool_call":
			called[it.CallID], r.Made = true, append(r.Made, it.Name)
		case it.Type == "function_call_output" || it.Type == "custom_tool_call_output":
			if !called[it.CallID] {
				return fmt.Errorf("no tool call found for function call output with call_id %s", it.CallID)
			}
			answered[it.CallID] = true
			r.Results = append(r.Results, Result{it.CallID, texts(it.Output)})
		case it.Role == "user":
			r.User, r.Told = r.User+texts(it.Content)+"\n", r.Told+texts(it.Content)+"\n"
		case it.Role == "system" || it.Role == "developer":
			r.System += texts(it.Content)
		}
	}
	for id := range called {
		if !answered[id] {
			return fmt.Errorf("no tool output found for function call %s", id)
		}
	}
	return nil
}

func (r *Request) takeTools(tools []responsesTool) {
	for _, t := range tools {
		if t.Type != "namespace" {
			r.Tools = append(r.Tools, t.Name)
		}
		for _, member := range t.Tools {
			r.Tools = append(r.Tools, t.Name+"/"+member.Name)
		}
	}
}

// items are what the model says, whole.
func (t Turn) items(r *Request) []object {
	var list []object
	if t.Thinking != "" {
		list = append(list, object{"type": "reasoning", "id": fmt.Sprintf("rs_%d", r.N), "encrypted_content": signature,
			"summary": []any{object{"type": "summary_text", "text": t.Thinking}}})
	}
	switch {
	case t.Stop == Refused:
		list = append(list, t.messageItem(r, object{"type": "refusal", "refusal": t.Text}))
	case t.Text != "":
		list = append(list, t.messageItem(r, object{"type": "output_text", "text": t.Text, "annotations": []any{}}))
	}
	for i, c := range t.Calls {
		call := object{"type": "function_call", "id": fmt.Sprintf("fc_%d_%d", r.N, i), "call_id": c.ID, "name": c.Name,
			"arguments": c.Args, "status": t.status()}
		if group, name, found := strings.Cut(c.Name, "/"); found {
			call["namespace"], call["name"] = group, name
		}
		if c.Custom {
			delete(call, "arguments")
			call["type"], call["input"] = "custom_tool_call", c.Args
		}
		list = append(list, call)
	}
	return list
}

func (t Turn) messageItem(r *Request, part object) object {
	return object{"type": "message", "id": fmt.Sprintf("msg_%d", r.N), "role": "assistant", "status": t.status(), "content": []any{part}}
}

func (t Turn) status() string {
	if t.Stop == Truncated {
		return "incomplete"
	}
	return "completed"
}

func wholeResponse(r *Request, t Turn) object {
	output := []any{}
	for _, it := range t.items(r) {
		output = append(output, it)
	}
	v := object{"id": fmt.Sprintf("resp_%d", r.N), "object": "response", "created_at": 1, "status": t.status(), "model": r.Model,
		"output": output, "error": nil, "incomplete_details": nil, "parallel_tool_calls": true, "tools": []any{}, "store": false,
		"usage": object{"input_tokens": t.Input, "output_tokens": t.Output, "total_tokens": t.Input + t.Output,
			"input_tokens_details": object{"cached_tokens": t.Cached}, "output_tokens_details": object{"reasoning_tokens": 0}}}
	if t.Stop == Truncated {
		v["incomplete_details"] = object{"reason": "max_output_tokens"}
	}
	return v
}

func responseEvents(r *Request, t Turn) []event {
	var list []event
	add := func(name string, v object) {
		v["type"], v["sequence_number"] = name, len(list)
		list = append(list, named(v, name))
	}
	empty := wholeResponse(r, Turn{})
	empty["status"], empty["usage"] = "in_progress", nil
	add("response.created", object{"response": empty})
	for i, it := range t.items(r) {
		begun := object{}
		for k, v := range it {
			begun[k] = v
		}
		begun["status"] = "in_progress"
		switch it["type"] {
		case "function_call":
			begun["arguments"] = ""
		case "message":
			begun["content"] = []any{}
		}
		add("response.output_item.added", object{"output_index": i, "item": begun})
		if it["type"] == "function_call" {
			for _, p := range pieces(it["arguments"].(string)) {
				add("response.function_call_arguments.delta", object{"output_index": i, "item_id": it["id"], "delta": p})
			}
		} else if it["type"] == "message" && t.Stop != Refused {
			add("response.content_part.added", object{"output_index": i, "item_id": it["id"], "content_index": 0,
				"part": object{"type": "output_text", "text": "", "annotations": []any{}}})
			for _, p := range pieces(t.Text) {
				add("response.output_text.delta", object{"output_index": i, "item_id": it["id"], "content_index": 0, "delta": p})
			}
			add("response.output_text.done", object{"output_index": i, "item_id": it["id"], "content_index": 0, "text": t.Text})
		}
		add("response.output_item.done", object{"output_index": i, "item": it})
	}
	add("response."+t.status(), object{"response": wholeResponse(r, t)})
	return list
}
