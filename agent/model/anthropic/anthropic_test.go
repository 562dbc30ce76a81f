package anthropic

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"git-ward/agent/model"
	"git-ward/agent/tool"
)

// The turns that come event by event in TestReply, in the API's JSON.
const (
	begins   = `{"type":"message_start","message":{"content":[],"usage":{"input_tokens":5,"cache_read_input_tokens":30,"cache_creation_input_tokens":7}}}`
	text     = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	hello    = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hello"}}`
	call     = `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"bash","input":{}}}`
	whole    = `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"command\":\"ls\"}"}}`
	half     = `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"comm"}}`
	over     = `{"type":"message_stop"}`
	usage    = `"usage":{"output_tokens":9}}`
	finished = `{"type":"message_delta","delta":{"stop_reason":"end_turn"},` + usage
	cut      = `{"type":"message_delta","delta":{"stop_reason":"max_tokens"},` + usage
	declined = `{"type":"message_delta","delta":{"stop_reason":"refusal"},` + usage
	full     = `{"type":"message_delta","delta":{"stop_reason":"model_context_window_exceeded"},` + usage
)

// TestReply: what a turn comes to, by its events.
func TestReply(t *testing.T) {
	for name, c := range map[string]struct {
		events string
		text   string
		stop   model.Stop
		args   string // of the call, "" for none
		fault  string // of the call
		native string // contains
	}{
		"text":             {text + hello + finished, "hello", "", "", "", `"text":"hello"`},
		"an empty text":    {text + finished, "", "", "", "", ""},
		"a call":           {text + hello + call + whole + finished, "hello", "", `{"command":"ls"}`, "", `"type":"tool_use"`},
		"a call cut off":   {text + hello + call + half + cut, "hello", model.Truncated, "{}", "cut off by the limit", `"input":{}`},
		"half a call":      {text + hello + call + half + finished, "hello", "", "{}", "are not a JSON object", `"input":{}`},
		"refused":          {text + hello + declined, "hello", model.Declined, "", "", `"text":"hello"`},
		"text, cut off":    {text + hello + cut, "hello", model.Truncated, "", "", `"text":"hello"`},
		"too long to hold": {text + hello + full, "", "", "", "", ""},
	} {
		a := answer{inputs: map[int64]string{}}
		decoder := json.NewDecoder(strings.NewReader(begins + c.events + over))
		for decoder.More() {
			var event sdk.MessageStreamEventUnion
			if err := decoder.Decode(&event); err != nil {
				t.Fatal(name, err)
			}
			if err := a.take(event); err != nil {
				t.Fatal(name, err)
			}
		}
		r, err := a.reply()
		if trouble := (*model.Trouble)(nil); errors.As(err, &trouble) != (strings.HasSuffix(c.events, full)) || trouble != nil && trouble.Kind != model.TooLong || !a.whole {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		args, fault := "", ""
		if len(r.Calls) > 0 {
			args, fault = string(r.Calls[0].Args), r.Calls[0].Fault
		}
		if r.Text != c.text || r.Stop != c.stop || args != c.args || (fault != "") != (c.fault != "") || !strings.Contains(fault, c.fault) || !strings.Contains(string(r.Native), c.native) {
			t.Errorf("%s: %+v, native %s", name, r, r.Native)
		}
		if want := (model.Usage{Input: 42, Cached: 30, Output: 9}); r.Usage != want {
			t.Errorf("%s: %+v", name, r.Usage)
		}
	}
}

// TestParams: the two marks for the cache, results before words, and a turn of the
// model as the provider wrote it.
func TestParams(t *testing.T) {
	m := New(Options{BaseURL: "http://localhost", ID: "claude-test", Output: 100})
	p := m.params(&model.Conversation{
		System: "You are.",
		Tools:  []tool.Tool{{Name: "bash", Description: "runs", Schema: json.RawMessage(`{"type":"object"}`)}},
		Messages: []model.Message{
			{Role: model.User, Text: "Continue."},
			{Role: model.Assistant}, // a turn without a word, which the API does not take
			{Role: model.Assistant, Native: json.RawMessage(`[{"type":"thinking","thinking":"hm","signature":"s"}]`), Text: "not this"},
			{Role: model.User, Text: "and", Results: []model.Result{{ID: "t1", Result: tool.Result{Text: "x", IsError: true}}}},
		}})
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	const mark = `"cache_control":{"type":"ephemeral"}`
	got := string(data)
	for _, want := range []string{
		`"model":"claude-test"`, `"max_tokens":100`, `{"text":"You are.",` + mark, `"input_schema":{"type":"object"}`,
		`{"content":[{"type":"thinking","thinking":"hm","signature":"s"}],"role":"assistant"}`,
		`{"content":[{"tool_use_id":"t1","is_error":true,`, `{"text":"and",` + mark,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if strings.Count(got, mark) != 2 || strings.Count(got, `"role":"assistant"`) != 1 || strings.Contains(got, "not this") {
		t.Errorf("%s", got)
	}
}

// TestNothingToMark: a conversation without a block has no end to mark.
func TestNothingToMark(t *testing.T) {
	mark(nil)
	empty := []sdk.MessageParam{{}}
	if mark(empty); len(empty[0].Content) != 0 {
		t.Errorf("%+v", empty)
	}
}
