package gateway

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const okMessage = `{"type":"message","content":[],"usage":{"input_tokens":1,"output_tokens":1}}`

func okAnswer(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 200, okMessage) }

// Requests of the shapes that the official clients send.
var admitted = map[string][]string{
	"/anthropic/v1/messages?beta=true": {
		`{"model":"claude-test","max_tokens":100,"messages":[{"role":"user","content":"hi"}]}`,
		`{"model":"claude-test","max_tokens":100,"stream":true,"temperature":1,"metadata":{"user_id":"u"},
		 "system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"5m"}}],
		 "thinking":{"type":"enabled","budget_tokens":50},"tool_choice":{"type":"auto"},
		 "context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]},
		 "tools":[{"name":"fetch","description":"d","input_schema":{"type":"object","properties":{"type":{"const":"url"}}}},
		          {"type":"bash_20250124","name":"bash"},{"type":"text_editor_20250728","name":"e","max_characters":9},
		          {"type":"memory_20250818","name":"memory"},{"type":"custom","name":"c","input_schema":{}}],
		 "messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA"}},
		   {"type":"document","source":{"type":"text","media_type":"text/plain","data":"x"}}]},
		  {"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"tool_use","id":"1","name":"fetch",
		    "input":{"type":"url","source":{"type":"url","url":"http://x"},"tools":[{"type":"web_search_20250305"}]}}]},
		  {"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"ok"}]}]}]}`,
	},
	"/anthropic/v1/messages/count_tokens": {`{"model":"claude-test","messages":[{"role":"user","content":"hi"}]}`},
	"/openai/v1/chat/completions": {
		`{"model":"gpt-test","messages":[{"role":"developer","content":"s"},{"role":"user","content":[{"type":"text","text":"x"},
		   {"type":"image_url","image_url":{"url":"data:image/png;base64,AA","detail":"low"}}]},
		  {"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},
		  {"role":"tool","tool_call_id":"1","content":"ok"}],
		  "tools":[{"type":"function","function":{"name":"f","parameters":{}}}],"max_completion_tokens":10,"store":false,"n":1}`,
	},
	"/openai/v1/responses": {
		`{"model":"gpt-test","input":"hi"}`,
		`{"model":"gpt-test","instructions":"i","stream":true,"store":false,"max_output_tokens":99,"include":["reasoning.encrypted_content"],
		  "previous_response_id":null,"background":false,
		  "input":[{"role":"user","content":[{"type":"input_text","text":"x"},{"type":"input_image","image_url":"data:image/png;base64,AA"}]},
		   {"type":"reasoning","summary":[],"encrypted_content":"e"},{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},
		   {"type":"function_call_output","call_id":"1","output":"ok"}],
		  "tools":[{"type":"function","name":"f","parameters":{},"strict":true},{"type":"custom","name":"p"},{"type":"local_shell"},
		   {"type":"namespace","name":"n","description":"d","tools":[{"type":"function","name":"f","parameters":{}}]}]}`,
	},
}

func TestOfficialRequestsPass(t *testing.T) {
	up := newStandIn(t, okAnswer)
	f := newFence(t, up.URL)
	for path, bodies := range admitted {
		for _, body := range bodies {
			if status, answer, err := f.post(path, body); status != 200 || err != nil {
				t.Errorf("%s %.60s: %d %s %v", path, body, status, answer, err)
			}
		}
	}
	for _, path := range []string{"/openai/v1/models", "/anthropic/v1/models?limit=5", "/openai/v1/models/ft:gpt-test:org::id"} {
		if status, answer, _ := f.do("GET", path, ""); status != 200 {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
}

// TestBodyIsWrittenAnew: what goes out has the members that were read, with their values as
// they came, and no others.
func TestBodyIsWrittenAnew(t *testing.T) {
	up := newStandIn(t, okAnswer)
	f := newFence(t, up.URL)
	for _, c := range []struct{ path, body, want string }{
		{"/anthropic/v1/messages", `{ "mod\u0065l":"claude-test", "max_tokens":5,"messages":[ ] }`, `{"model":"claude-test","max_tokens":5,"messages":[ ]}`},
		{"/anthropic/v1/messages", `{"model":"claude-test","max_tokens":5,"messages":[],"new_thing":{"url":"https://x"}}`, `{"model":"claude-test","max_tokens":5,"messages":[]}`},
		{"/openai/v1/responses", `{"store":false ,"model":"gpt-test","max_output_tokens":5,"input":"x","remember":true}`, `{"store":false,"model":"gpt-test","max_output_tokens":5,"input":"x"}`},
		{"/openai/v1/chat/completions", `{"stream":true,"model":"gpt-test","messages":[],"stream_options":{"include_usage":false,"include_obfuscation":false}}`,
			`"stream_options":{"include_usage":true,"include_obfuscation":false}`},
		{"/openai/v1/chat/completions", `{"stream":true,"model":"gpt-test","messages":[],"stream_options":null}`, `"include_usage":true`},
		{"/openai/v1/chat/completions", `{"model":"gpt-test","messages":[]}`, `"max_completion_tokens":32000`},
		{"/openai/v1/responses", `{"model":"gpt-test","input":"x"}`, `{"model":"gpt-test","input":"x","max_output_tokens":32000,"store":false}`},
		{"/openai/v1/responses", `{"model":"gpt-test","input":"x","max_output_tokens":5,"store":null,"client_metadata":{"workspaces":{"/w":{}}}}`,
			`{"model":"gpt-test","input":"x","max_output_tokens":5,"store":false}`},
	} {
		f.post(c.path, c.body)
		if _, _, got, _ := up.seen(); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s has no %s", c.body, got, c.want)
		}
	}
}

// TestUnknownTextPasses: parts and members that no table has, as new releases of programs send
// them, pass where they only carry text.
func TestUnknownTextPasses(t *testing.T) {
	up := newStandIn(t, okAnswer)
	f := newFence(t, up.URL)
	for path, bodies := range map[string][]string{
		"/anthropic/v1/messages": {
			`{"model":"claude-test","max_tokens":5,"messages":[{"role":"user","content":[{"type":"note","text":"see https://x.example for more"}]}]}`,
			`{"model":"claude-test","max_tokens":5,"messages":[{"role":"user","priority":1,"content":[{"type":"text","text":"https://x","mood":["calm"]}]}]}`,
			`{"model":"claude-test","max_tokens":5,"messages":[{"role":"user","content":[{"type":"note","content":[{"type":"text","text":"x"}],"cache_control":{"type":"ephemeral"}}]},
			  {"role":"assistant","content":[{"type":"tool_use","id":"1","name":"x","input":{"type":"url","url":"https://x"},"caller":{"type":"direct"}}]}],"tool_choice":{"type":"tool","name":"x","disable_parallel_tool_use":true}}`,
		},
		"/openai/v1/chat/completions": {
			`{"model":"gpt-test","messages":[{"role":"user","content":[{"type":"hint","hint":{"words":"a b"}}],"origin":"tui"}]}`,
			`{"model":"gpt-test","messages":[{"role":"user","content":[{"type":"hint","pid":7,"id":7,"call_id":7,"valid":true,"path":"C:/x","at":"a/b.go:7","schema":{"type":"object","properties":{"type":{"type":["string","null"]}}}}]}],
			  "tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"f"}}]}},"functions":[{"name":"f","parameters":{"type":"object"}}],"function_call":{"name":"f"}}`,
		},
		"/openai/v1/responses": {
			`{"model":"gpt-test","input":[{"type":"additional_tools","id":"at_1","role":"developer","tools":[{"type":"namespace","name":"functions","description":"","tools":[
			  {"type":"custom","name":"exec","description":"d","format":{"type":"grammar"}},{"type":"function","name":"wait","parameters":{"url":"https://x"},"strict":false}]}]}]}`,
			`{"model":"gpt-test","input":[{"type":"plan_update","call_id":"c","steps":[{"step":"look","done":true}]},
			  {"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"x","annotations":[]}]}]}`,
			`{"model":"gpt-test","input":[{"type":"tool_search_call","execution":"client","call_id":"c","arguments":{}},
			  {"type":"tool_search_output","execution":"client","call_id":"c","tools":[{"type":"function","name":"f"}]}],"tools":[{"type":"tool_search","execution":"client"}]}`,
		},
	} {
		for _, body := range bodies {
			if status, answer, err := f.post(path, body); status != 200 || err != nil {
				t.Errorf("%s %s: %d %s %v", path, body, status, answer, err)
			}
		}
	}
}

// TestFamilies: a program's own choice of a model is any of its family.
func TestFamilies(t *testing.T) {
	up := newStandIn(t, okAnswer)
	f := newFence(t, up.URL, func(c *Config) { c.Models = []string{"claude-*", "gpt-x"} })
	for name, want := range map[string]int{"claude-opus-9": 200, "claude-": 200, "gpt-x": 200, "gpt-xx": 400, "claude": 400, "claude-web-search": 400, "x-claude-1": 400} {
		if status, answer, _ := f.post("/anthropic/v1/messages", `{"model":"`+name+`","max_tokens":5,"messages":[]}`); status != want {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
}

// What would make the provider act, fetch or remember. M, C and R stand for
// what each protocol needs besides.
func TestSmuggledRequestsAreRefused(t *testing.T) {
	up := newStandIn(t, okAnswer)
	f := newFence(t, up.URL)
	for path, bodies := range map[string][]string{
		"/anthropic/v1/messages": {
			`{M,"tools":[{"type":"web_search_20250305","name":"web_search"}]}`,
			`{M,"tools":[{"type":"web_fetch_20250910","name":"web_fetch"}]}`,
			`{M,"tools":[{"type":"code_execution_20250825","name":"code_execution"}]}`,
			`{M,"tools":[{"type":"computer_20250124","name":"computer"}]}`,
			`{M,"tools":[{"type":"tool_search_tool_regex_20251119","name":"t"}]}`,
			`{M,"tools":[{"type":"mcp_toolset","mcp_server_name":"x"}]}`,
			`{M,"tools":[{"type":"bash_code_execution_20250825","name":"bash"}]}`,
			`{M,"tools":[{"name":"x","input_schema":{},"type":"custom","type":"web_search_20250305"}]}`,
			`{M,"tools":[{"name":"x","input_schema":{},"Type":"web_search_20250305"}]}`,
			`{M,"tools":[{"name":"x","input_schema":{},"typ\u0065":"web_search_20250305"}]}`,
			`{M,"tools":[{"name":"x","type":null}]}`,
			`{M,"tools":[{"name":"x","type":["web_search_20250305"]}]}`,
			`{M,"tools":[{"name":"x","input_schema":{},"allowed_callers":["code_execution_20250825"]}]}`,
			`{M,"tools":{"type":"web_search_20250305"}}`,
			`{M,"tools":[],"tools":[{"type":"web_search_20250305","name":"web_search"}]}`,
			`{M,"Tools":[{"type":"web_search_20250305","name":"web_search"}]}`,
			`{M,"too\u006cs":[{"type":"web_search_20250305","name":"web_search"}]}`,
			`{M,"mcp_servers":[{"type":"url","url":"https://x","name":"n"}]}`,
			`{M,"container":"c"}`, `{M,"speed":"fast"}`, `{M,"inference_geo":"us"}`, `{M,"service_tier":"priority"}`,
			`{M,"context_management":{"edits":[{"type":"compact_20260112"}]}}`,
			`{M,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://x/?secret"}}]}]}`,
			`{"model":"claude-test","max_tokens":5,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://x"}}]}]}`,
			`{"model":"claude-test","max_tokens":5,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"url","url":"https://x"}}]}]}`,
			`{"model":"claude-test","max_tokens":5,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"file","file_id":"f"}}]}]}`,
			`{"model":"claude-test","max_tokens":5,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"content","content":[{"type":"image","source":{"type":"url","url":"u"}}]}}]}]}`,
			`{"model":"claude-test","max_tokens":5,"messages":[{"role":"user","content":[{"type":"container_upload","file_id":"f"}]}]}`,
			`{"model":"claude-test","max_tokens":5,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"image","source":{"type":"url","url":"https://x"}}]}]}]}`,
			`{"model":"claude-test","max_tokens":5,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"A"},"source":{"type":"url","url":"https://x"}}]}]}`,
			`{"model":"claude-test","max_tokens":5,"messages":[{"role":"user","content":"x","Content":[{"type":"image","source":{"type":"url","url":"https://x"}}]}]}`,
			`{"model":"claude-test","max_tokens":5,"messages":[{"role":"user","content":[{"type":"text","text":"x","source":{"type":"url","url":"https://x"}}]}]}`,
			`{"model":"claude-test","max_tokens":5,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"AA","url":"https://x"}}]}]}`,
			`{"model":"claude-test","max_tokens":5,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"AA","Data":"BB"}}]}]}`,
			`{"model":"claude-test","max_tokens":5,"messages":[{"role":"user","content":[{"type":"tool_use","id":"1","name":"x","input":{},"caller":{"type":"url","url":"//x/y"}}]}]}`,
			`{M,"tool_choice":{"type":"web_search"}}`, `{"model":"claude-test","max_tokens":5,"messages":[{"role":"user","content":[{"type":"note","text":"x","source":{"type":"url","url":"x.example/y"}}]}]}`,
			`{"model":"claude-test","max_tokens":5,"messages":[{"role":"user","content":[{"type":"note","text":"x","source":{"type":"file","file":"f1"}}]}]}`,
			`{"model":"claude-test","max_tokens":5,"messages":[{"role":"user","content":[{"type":"tool_use","id":"1","name":"x","input":{},"caller":{"type":"code_execution_20250825","tool_id":"t"}}]}]}`,
			`{M}{M}`, `[{M}]`, `{M`, ``, `null`, `{}`, `{M,"max_tokens":9}`, `{"messages":[],"max_tokens":5}`,
			`{"model":"claude-test","messages":[],"max_tokens":-5}`, `{"model":"claude-test","messages":[],"max_tokens":1e99}`,
			`{"model":"../x y","messages":[],"max_tokens":5}`, `{"model":"claude-test2","messages":[],"max_tokens":5}`, `{"model":"Claude-test","messages":[],"max_tokens":5}`,
			`{M,"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}}]}`, `{M,"cache_control":{"type":"ephemeral","ttl":"1h"}}`,
			`{M,"tools":[{"name":"x","input_schema":{},"cache_control":{"type":"ephemeral","ttl":"1\u0068"}}]}`,
			`{"model":"claude-test","max_tokens":5,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":{"url":"https://x"}}}]}]}`,
			`{"model":"claude-test","messages":[],"max_tokens":"5"}`, `{M,"thinking":{"type":"enabled","budget_tokens":"1000"}}`, `{M,"stream":1}`, `{M,"toolſ":[{"type":"web_search_20250305","name":"web_search"}]}`,
			`{M,"thinking":{"type":"enabled","budget_tokens":-1}}`, "{\"model\":\"claude-test\",\"messages\":[],\"max_tokens\":5,\"system\":\"\xff\"}",
		},
		"/openai/v1/chat/completions": {
			`{C,"web_search_options":{}}`, `{C,"store":true}`, `{C,"n":5}`, `{C,"modalities":["text","audio"]}`, `{C,"service_tier":"priority"}`,
			`{C,"tools":[{"type":"web_search"}]}`, `{C,"tools":[{"type":"mcp","server_url":"https://x"}]}`, `{C,"tools":[{"type":"function","function":{},"server_url":"u"}]}`,
			`{"model":"gpt-4o-search-preview","messages":[]}`, `{"model":"gpt-test:online","messages":[]}`, `{"model":"gpt-test:nitro","messages":[]}`,
			`{C,"prompt_cache_retention":"24h"}`, `{C,"best_of":3}`, `{"model":"gpt-test","messages":[{"role":"assistant","images":[{"image_url":{"url":"data:image/png;base64,AA"}}]}]}`, `{C,"plugins":[{"id":"web"}]}`, `{C,"models":["other"]}`,
			`{"model":"gpt-test","messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AA","format":"mp3"}}]}]}`,
			`{"model":"gpt-test","messages":[{"role":"user","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"1h"}}]}]}`,
			`{"model":"gpt-test","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x/?s"}}]}]}`,
			`{"model":"gpt-test","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":" data:,"}}]}]}`,
			`{"model":"gpt-test","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"f"}}]}]}`,
			`{"model":"gpt-test","messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"https://x/y"}}]}]}`,
			`{"model":"gpt-test","messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"\u0068ttps://x/y"}}]}]}`,
			`{"model":"gpt-test","messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"//x/y"}}]}]}`,
			`{"model":"gpt-test","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA","URL":"https://x"}}]}]}`,
			`{"model":"gpt-test","messages":[{"role":"assistant","audio":{"id":"a"}}]}`,
			`{C,"n":"1"}`, `{C,"n":1.0}`, `{C,"max_tokens":"5"}`, `{C,"store":"true"}`, `{C,"store":1}`, `{C,"max_tokens":5,"max_Tokens":6}`,
			`{"model":"gpt-test","messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"https:x"}}]}]}`,
			`{"model":"gpt-test","messages":[{"role":"user","content":[{"type":"file","file":{"file_data":{"url":"https://x"}}}]}]}`,
			`{"model":"gpt-test","messages":[{"role":"user","content":[{"type":"image_url","image_url":"https://x"}]}]}`,
			`{C,"stream":"yes"}`, `{C,"stream":true,"stream_options":[]}`,
			`{C,"functions":[{"type":"web_search"}]}`, `{C,"function_call":{"type":"web_search"}}`, `{C,"tool_choice":{"type":"web_search"}}`, `{C,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"mcp"}]}}}`,
		},
		"/openai/v1/responses": {
			`{R,"previous_response_id":"r"}`, `{R,"conversation":"c"}`, `{R,"prompt":{"id":"p"}}`, `{R,"background":true}`, `{R,"store":true}`,
			`{R,"tools":[{"type":"web_search"}]}`, `{R,"tools":[{"type":"web_search_preview_2025_03_11"}]}`, `{R,"tools":[{"type":"file_search","vector_store_ids":[]}]}`,
			`{R,"tools":[{"type":"code_interpreter","container":{"type":"auto"}}]}`, `{R,"tools":[{"type":"mcp","server_url":"https://x"}]}`,
			`{R,"tools":[{"type":"computer_use_preview"}]}`, `{R,"tools":[{"type":"image_generation"}]}`, `{R,"tools":[{"type":"shell","environment":{"type":"container_auto"}}]}`,
			`{R,"tools":[{"type":"namespace","tools":[{"type":"web_search"}]}]}`, `{R,"tools":[{"type":"namespace","tools":[],"server_url":"https://x"}]}`,
			`{R,"tools":[{"type":"namespace","tools":[{"type":"namespace","tools":[{"type":"web_search"}]}]}]}`, `{R,"tools":[{"name":"untyped"}]}`,
			`{R,"include":["web_search_call.action.sources"]}`,
			`{"model":"o3-deep-research","input":"x"}`,
			`{"model":"gpt-test","input":[{"type":"item_reference","id":"i"}]}`, `{"model":"gpt-test","input":[{"id":"i"}]}`,
			`{"model":"gpt-test","input":[{"type":"mcp_approval_response","approve":true}]}`,
			`{"model":"gpt-test","input":[{"type":"tool_search_output","tools":[{"type":"web_search"}]}]}`,
			`{"model":"gpt-test","input":[{"role":"user","content":[{"type":"input_image","image_url":"https://x"}]}]}`,
			`{"model":"gpt-test","input":[{"role":"user","content":[{"type":"input_file","file_url":"https://x"}]}]}`,
			`{"model":"gpt-test","input":[{"role":"user","content":[{"type":"input_file","file_id":"f"}]}]}`,
			`{"model":"gpt-test","input":[{"type":"function_call_output","call_id":"1","output":[{"type":"input_image","image_url":"http://x"}]}]}`,
			`{"model":"gpt-test","input":[{"type":"additional_tools","role":"developer","tools":[{"type":"web_search"}]}]}`,
			`{"model":"gpt-test","input":[{"type":"additional_tools","tools":[{"type":"namespace","tools":[{"type":"mcp","server_url":"https://x"}]}]}]}`,
			`{"model":"gpt-test","input":[{"type":"additional_tools","tools":[],"Tools":[{"type":"web_search"}]}]}`,
			`{R,"tools":[{"type":"tool_search"},{"type":"tool_search","execution":"server"}]}`,
			`{"model":"gpt-test","input":[{"type":"new_thing","parts":[{"tools":[{"type":"web_search"}]}]}]}`,
			`{"model":"gpt-test","input":[{"type":"new_thing","link":"https://x"}]}`,
			`{R,"background":1}`, `{R,"background":"true"}`, `{R,"store":"false","Store":true}`, `{R,"max_output_tokens":"5"}`,
			`{"model":"gpt-test","input":[{"type":"new_thing","link":"https:/\n/x/a"}]}`, `{"model":"gpt-test","input":[{"type":"new_thing","link":"ht\ttps://x"}]}`,
			`{"model":"gpt-test","input":[{"type":"new_thing","link":"https://x/a\nb"}]}`, `{"model":"gpt-test","input":[{"type":"new_thing","link":"HTTPS:x/a"}]}`,
			`{"model":"gpt-test","input":[{"type":"new_thing","link":"https:\\\\x/a"}]}`, `{"model":"gpt-test","input":[{"type":"new_thing","link":"\\\\x/a"}]}`,
			`{"model":"gpt-test","input":[{"role":"user","content":[{"type":"input_image","image-url":"https://x","image_url":"data:image/png;base64,AAAA"}]}]}`,
			`{"model":"gpt-test","input":[{"role":"user","content":[{"type":"input_file","file_data":"https://x"}]}]}`, `{"model":"gpt-test","input":[{"role":"user","content":[{"type":"input_file","file_data":["https://x"]}]}]}`,
			`{"model":"gpt-test","input":[{"type":"new_thing","link":["data:text/plain,x"]}]}`,
			`{"model":"gpt-test","input":[{"type":"new_thing","asset_id":"a"}]}`, `{"model":"gpt-test","input":[{"type":"new_thing","id":"a","status":"completed"}]}`,
			`{"model":"gpt-test","input":[{"type":"new_thing","a":{"text":"x","Text":"y"}}]}`,
			`{R,"tool_choice":{"type":"web_search"}}`, `{R,"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"mcp","server_label":"x"}]}}`,
			`{"model":"gpt-test","input":[{"type":"new_thing","text":"x","tool":{"type":"web_search"}}]}`,
			`{"model":"gpt-test","input":[{"type":"new_thing","text":"x","tool":{"Type":"web_search"}}]}`,
			`{"model":"gpt-test","input":[{"type":"new_thing","text":"x","tool":{"type":["web_search"]}}]}`,
			`{"model":"gpt-test","input":[{"type":"new_thing","text":"x","tool":{"type":{"text":"x","asset_id":"a"}}}]}`,
			`{"model":"gpt-test","input":[{"type":"new_thing","asset_id":{"v":"a"}}]}`, `{"model":"gpt-test","input":[{"type":"new_thing","asset_id":7}]}`, `{"model":"gpt-test","input":[{"type":"new_thing","assetIds":[7]}]}`,
			`{"model":"gpt-test","input":[{"type":"new_thing","link":"file:/etc/passwd"}]}`, `{"model":"gpt-test","input":[{"type":"new_thing","link":"ftp:x/y"}]}`, `{"model":"gpt-test","input":[{"type":"new_thing","url":"x.example/y"}]}`,
			`{"model":"gpt-test","input":[{"role":"user","content":[{"type":"input_text","text":"x","file\u005fid":"f"}]}]}`,
		},
	} {
		for _, body := range bodies {
			body = strings.NewReplacer(`{M`, `{"model":"claude-test","max_tokens":5,"messages":[]`,
				`{C`, `{"model":"gpt-test","messages":[]`, `{R`, `{"model":"gpt-test","input":"x"`).Replace(body)
			status, answer, err := f.post(path, body)
			if status != 400 || err != nil || !strings.Contains(answer, "invalid_request_error") || !strings.Contains(answer, `"message":"ward: `) {
				t.Errorf("%s %s: %d %s %v", path, body, status, answer, err)
			}
		}
	}
	if hits, _, body, _ := up.seen(); hits != 0 {
		t.Errorf("%d requests reached the provider, the last one %s", hits, body)
	}
}

func TestOnlyInferencePaths(t *testing.T) {
	up := newStandIn(t, okAnswer)
	f := newFence(t, up.URL)
	for _, c := range []string{
		"GET /", "GET /anthropic", "GET /anthropic/", "POST /v1/messages", "GET /anthropic/v1/messages", "POST /anthropic/v1/messages/",
		"POST /anthropic/v1/messages/batches", "POST /anthropic/v1/files", "GET /anthropic/v1/files/f/content", "POST /anthropic/v1/complete",
		"GET /anthropic/v1/organizations/me", "POST /anthropic/v1/messages/../files", "POST /anthropic/v1/messages%2fbatches", "POST /anthropic//v1/messages",
		"POST /anthropic/v1/chat/completions", "POST /openai/v1/messages", "POST /openai/v1/files", "GET /openai/v1/responses/r", "DELETE /openai/v1/models/m",
		"GET /openai/v1/models/../files", "GET /openai/v1/models/%2e%2e", "GET /openai/v1/models/a/b", "POST /openai/v1/embeddings", "POST /openai/v1/images/generations",
		"POST /openai/v1/responses?stream=1", "GET /openai/v1/models?x=1;y", "POST /openai/v1/models", "PUT /openai/v1/responses", "GET /anthropic/v1/models/..%5c",
	} {
		method, path, _ := strings.Cut(c, " ")
		if status, answer, err := f.do(method, path, `{"model":"m","input":"x"}`); status != 403 || err != nil {
			t.Errorf("%s: %d %s %v", c, status, answer, err)
		}
	}
	if hits, _, _, path := up.seen(); hits != 0 {
		t.Errorf("%s reached the provider", path)
	}
}

func TestWithoutKeyOrDirective(t *testing.T) {
	f := newFence(t, "", func(c *Config) { c.OpenAI.Key, c.Anthropic.Key = Key{}, Key{} })
	status, answer, _ := f.post("/openai/v1/responses", `{}`)
	if status != 403 || !strings.Contains(answer, "openai_key_file") {
		t.Errorf("%d %s", status, answer)
	}
	up := newStandIn(t, okAnswer)
	f = newFence(t, up.URL, func(c *Config) { c.Payer = payer{} })
	status, answer, _ = f.post("/anthropic/v1/messages", admitted["/anthropic/v1/messages?beta=true"][0])
	if hits, _, _, _ := up.seen(); status != 403 || hits != 0 || !strings.Contains(answer, "no directive is open") {
		t.Errorf("%d %s", status, answer)
	}
}

func TestBaseURLs(t *testing.T) {
	for text, ok := range map[string]bool{
		"": true, "https://api.example.com/x/": true, "http://127.0.0.1:8000": true, "http://[::1]:1": true,
		"http://api.example.com": false, "http://10.0.0.1": false, "https://u:p@h": false, "ftp://h": false, "https://": false, "https://h?q": false, "%": false,
	} {
		if _, err := baseURL(text, "https://api.anthropic.com"); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// No body makes a check panic, and what is admitted has each member once, names
// a model, and is bounded in what goes out as in what was reserved.
func FuzzRequest(f *testing.F) {
	for _, bodies := range admitted {
		for _, body := range bodies {
			f.Add([]byte(body))
		}
	}
	g := &Gateway{}
	all, err := g.providers()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, p := range all {
			for path, e := range p.endpoints {
				c, err := e.read(body, Limits{MaxOutput: 100}.withDefaults(), seen{models: []string{"claude-test", "gpt-test"}})
				if err != nil || e.free {
					continue
				}
				sent := bytes.Join(c.parts, nil)
				var twice map[string]jsontext.Value // refuses members that are there twice
				if err := json.Unmarshal(sent, &twice); err != nil {
					t.Fatalf("%s: %s: %v", path, sent, err)
				}
				out, err := decodeFields(sent)
				if err != nil || c.model == "" || c.output < 1 {
					t.Fatalf("%s: %s: %v %+v", path, body, err, c)
				}
				bounded := false
				for _, name := range e.limits {
					var n int64
					bounded = bounded || out.into(name, &n) == nil && 0 < n && n <= c.output
				}
				if !bounded {
					t.Fatalf("%s: %s goes out without its bound", path, sent)
				}
			}
		}
	})
}
