package openai

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"git-ward/agent/model"
	"git-ward/agent/tool"
)

// The pieces that Chat Completions sends, with what local servers make of them.
const (
	hello    = `{"choices":[{"delta":{"content":"hel"}}]}{"choices":[{"delta":{"content":"lo"}}]}`
	refusal  = `{"choices":[{"delta":{"refusal":"I may not."}}]}`
	begins   = `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":""}}]}}]}`
	goesOn   = `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"command\""}}]}}]}`
	ends     = `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":\"ls\"}"}}]}}]}`
	second   = `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"read_file","arguments":"{}"}}]}}]}`
	nameless = `{"choices":[{"delta":{"tool_calls":[{"index":3,"function":{"name":"bash","arguments":"{}"}}]}}]}`
	stop     = `{"choices":[{"delta":{},"finish_reason":"stop"}]}`
	length   = `{"choices":[{"delta":{},"finish_reason":"length"}]}`
	filtered = `{"choices":[{"delta":{},"finish_reason":"content_filter"}]}`
	usage    = `{"choices":[],"usage":{"prompt_tokens":40,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":30}}}`
)

// TestCompletion: what a turn of Chat Completions comes to, by its pieces.
func TestCompletion(t *testing.T) {
	for name, c := range map[string]struct {
		pieces string
		text   string
		stop   model.Stop
		calls  string // "id name arguments fault?" of each
	}{
		"text":                               {hello + stop, "hello", "", ""},
		"cut off":                            {hello + length, "hello", model.Truncated, ""},
		"filtered":                           {hello + filtered, "hello", model.Declined, ""},
		"refused":                            {hello + refusal + stop, "hello\n\nI may not.", model.Declined, ""},
		"a call in pieces":                   {begins + goesOn + ends + stop, "", "", `a bash {"command":"ls"}`},
		"a call cut off":                     {begins + goesOn + length, "", model.Truncated, `a bash {} fault`},
		"half a call":                        {begins + goesOn + stop, "", "", `a bash {} fault`},
		"two calls of one index":             {begins + goesOn + ends + second + stop, "", "", `a bash {"command":"ls"}, b read_file {}`},
		"the first of two calls is not cut":  {begins + goesOn + ends + second + length, "", model.Truncated, `a bash {"command":"ls"}, b read_file {}`},
		"a call without an id gets its own":  {nameless + stop, "", "", `call_ bash {}`},
		"a turn without a finish has no end": {hello, "hello", "", ""},
	} {
		var a completion
		decoder := json.NewDecoder(strings.NewReader(c.pieces + usage))
		for decoder.More() {
			var chunk sdk.ChatCompletionChunk
			if err := decoder.Decode(&chunk); err != nil {
				t.Fatal(name, err)
			}
			a.take(chunk)
		}
		r := a.reply()
		var calls []string
		for _, call := range r.Calls {
			words := []string{call.ID, call.Name, string(call.Args)}
			if strings.HasPrefix(call.ID, "call_") {
				words[0] = "call_"
			}
			if call.Fault != "" {
				words = append(words, "fault")
			}
			calls = append(calls, strings.Join(words, " "))
		}
		if r.Text != c.text || r.Stop != c.stop || strings.Join(calls, ", ") != c.calls || (a.finish == "") != (c.pieces == hello) {
			t.Errorf("%s: %q %s %q", name, r.Text, r.Stop, calls)
		}
		if want := (model.Usage{Input: 40, Cached: 30, Output: 9}); r.Usage != want {
			t.Errorf("%s: %+v", name, r.Usage)
		}
	}
}

// TestResponse: what a turn of Responses comes to. Its items go back as they came,
// but for a call that cannot be read.
func TestResponse(t *testing.T) {
	for name, c := range map[string]struct {
		response string
		text     string
		stop     model.Stop
		fault    bool
		native   string // contains
	}{
		"text": {`{"output":[{"type":"message","content":[{"type":"output_text","text":"a"},{"type":"output_text","text":"b"}]}]}`, "a\n\nb", "", false, `"type":"message"`},
		"reasoning goes back": {`{"output":[{"type":"reasoning","id":"r","encrypted_content":"xyz"},{"type":"function_call","call_id":"c","name":"bash","arguments":"{}"}]}`,
			"", "", false, `"encrypted_content":"xyz"`},
		"half a call": {`{"output":[{"type":"function_call","call_id":"c","name":"bash","arguments":"{\"comm"}]}`, "", "", true, `"arguments":"{}"`},
		"cut off": {`{"incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"function_call","call_id":"c","name":"bash","arguments":"{\"comm"}]}`,
			"", model.Truncated, true, `"call_id":"c"`},
		"filtered": {`{"incomplete_details":{"reason":"content_filter"},"output":[]}`, "", model.Declined, false, ""},
		"refused":  {`{"output":[{"type":"message","content":[{"type":"refusal","refusal":"I may not."}]}]}`, "I may not.", model.Declined, false, `"refusal"`},
	} {
		var v responses.Response
		if err := json.Unmarshal([]byte(c.response), &v); err != nil {
			t.Fatal(name, err)
		}
		r, err := replyOf(v)
		fault := len(r.Calls) > 0 && r.Calls[0].Fault != ""
		if err != nil || r.Text != c.text || r.Stop != c.stop || fault != c.fault || !strings.Contains(string(r.Native), c.native) || (r.Native == nil) != (c.native == "") {
			t.Errorf("%s: %v %+v, native %s", name, err, r, r.Native)
		}
	}
}

// TestTrouble: an error that comes as an event is known by its kind alone; one that
// nobody knows is the server's, and tried again.
func TestTrouble(t *testing.T) {
	for data, want := range map[string]model.Kind{
		`{"code":"rate_limit_exceeded","message":"slow down"}`: model.Busy,
		`{"error":{"type":"server_error","message":"oops"}}`:   model.Busy,
		`{"error":{"code":"insufficient_quota"}}`:              model.Spent,
		`{"error":{"code":"something_new"}}`:                   model.Broken,
		`not JSON`:                                             model.Broken,
	} {
		var trouble *model.Trouble
		if err := failed([]byte(data)); !errors.As(err, &trouble) || trouble.Kind != want {
			t.Errorf("%s: %v", data, err)
		}
	}
	lost := trouble(t.Context(), &url.Error{Op: "Post", URL: "x", Err: errors.New("reset")})
	if kind := (*model.Trouble)(nil); !errors.As(lost, &kind) || kind.Kind != model.Broken {
		t.Errorf("%v", lost)
	}
}

// TestParams: the provider keeps nothing, and gets results before words by either API.
func TestParams(t *testing.T) {
	talk := &model.Conversation{System: "You are.", Directive: "D-1", Tools: []tool.Tool{{Name: "bash", Schema: json.RawMessage(`{"type":"object"}`)}},
		Messages: []model.Message{
			{Role: model.Assistant, Text: "I look.", Calls: []model.Call{{ID: "c", Name: "bash", Args: json.RawMessage(`{"command":"ls"}`)}}},
			{Role: model.User, Text: "and", Results: []model.Result{{ID: "c", Result: tool.Result{Text: "x"}}}},
		}}
	chat, err := NewChat(Options{BaseURL: "http://localhost/v1", ID: "gpt-test", Output: 100}).params(talk)
	if err != nil {
		t.Fatal(err)
	}
	response, err := NewResponses(Options{BaseURL: "http://localhost/v1", ID: "gpt-test", Output: 100}).params(talk)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		params any
		want   []string // in this order
	}{
		{chat, []string{`"content":"You are.","role":"system"`, `"arguments":"{\"command\":\"ls\"}"`, `"tool_call_id":"c"`, `"content":"and","role":"user"`, `"max_completion_tokens":100`}},
		{response, []string{`"role":"assistant"`, `"type":"function_call"`, `"type":"function_call_output"`, `"role":"user"`}},
		{response, []string{`"store":false`}}, {response, []string{`"prompt_cache_key":"ward-D-1"`}}, {response, []string{`"reasoning.encrypted_content"`}},
	} {
		data, err := json.Marshal(c.params)
		if err != nil {
			t.Fatal(err)
		}
		rest := string(data)
		for _, want := range c.want {
			_, after, found := strings.Cut(rest, want)
			if !found {
				t.Errorf("no %s, or not there, in\n%s", want, data)
			} else if !strings.Contains(want, "max_completion") {
				rest = after
			}
		}
	}
	talk.Tools[0].Schema = json.RawMessage("{")
	if _, err := NewResponses(Options{}).params(talk); err == nil {
		t.Error("a broken schema passes")
	}
}
