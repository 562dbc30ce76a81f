package preset

import (
	"encoding/json"
	"fmt"
	"strings"

	"git-ward/agent/model"
)

// setupCodex is `codex exec`. Its own sandbox is off: the fence is stronger, and a nested
// sandbox does not start.
func setupCodex(s Setup) invocation {
	v := invocation{
		args: []string{"exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"},
		env:  map[string]string{"CODEX_HOME": s.Home},
	}
	set := func(key, value string) { v.args = append(v.args, "-c", key+"="+value) }
	set("model_provider", quote("ward"))
	set("model_providers.ward", fmt.Sprintf(`{name="ward", base_url=%s, env_key="OPENAI_API_KEY", wire_api="responses"}`, quote(s.OpenAI)))
	// The provider's search bypasses the fence, and the gateway refuses it.
	set("web_search", quote("disabled"))
	set("analytics.enabled", "false")
	set("check_for_update_on_startup", "false")
	set("history.persistence", quote("none"))
	// Early releases ask the provider to keep what is said, which the gateway refuses.
	set("disable_response_storage", "true")
	if s.ID != "" {
		v.args = append(v.args, "--model", s.ID)
	}
	if len(s.Server) > 0 {
		set("mcp_servers.ward.command", quote(s.Server[0]))
		list := make([]string, len(s.Server)-1)
		for i, arg := range s.Server[1:] {
			list[i] = quote(arg)
		}
		set("mcp_servers.ward.args", "["+strings.Join(list, ",")+"]")
	}
	v.args = append(v.args, "-") // the prompt is stdin
	return v
}

// quote writes a TOML string; for paths and URLs JSON's escapes are the same.
func quote(s string) string {
	data, _ := json.Marshal(s) // a string: cannot fail
	return string(data)
}

type codexEvent struct {
	Type    string
	Message string
	Error   json.RawMessage
	Item    codexItem
	Usage   codexUsage
}

// codexEarly is an event as releases before items told of it.
type codexEarly struct {
	Msg struct {
		Type    string
		Message string
		Call    string `json:"call_id"`
		Command []string
		Changes json.RawMessage
		Stdout  string
		Stderr  string
		Exit    *int `json:"exit_code"`
		Success *bool

		Invocation struct {
			Server, Tool string
			Arguments    json.RawMessage
		}
		Result struct {
			Ok  *struct{ Content json.RawMessage }
			Err json.RawMessage
		}

		codexUsage // of one answer
		Info       *struct {
			Total codexUsage `json:"total_token_usage"`
		}
	}
}

type codexUsage struct {
	Input  int64 `json:"input_tokens"`
	Cached int64 `json:"cached_input_tokens"`
	Output int64 `json:"output_tokens"`
}

func (u codexUsage) sum() model.Usage {
	return model.Usage{Input: u.Input, Cached: u.Cached, Output: u.Output}
}

// early takes an event of such a release. It tells of no end: what the model says without a
// use of a tool behind it is its last word.
func (r *Reading) early(e codexEarly) {
	m := e.Msg
	r.Ended = r.Ended && !strings.HasSuffix(m.Type, "_begin")
	switch m.Type {
	case "agent_message":
		r.said(m.Message)
		r.Ended, r.Failed = true, ""
	case "exec_command_begin":
		r.called(m.Call, "command_execution", json.RawMessage(strings.Join(m.Command, " ")))
	case "patch_apply_begin":
		r.called(m.Call, "file_change", m.Changes)
	case "mcp_tool_call_begin":
		r.called(m.Call, m.Invocation.Server+"."+m.Invocation.Tool, m.Invocation.Arguments)
	case "exec_command_end", "patch_apply_end":
		failed := m.Exit != nil && *m.Exit != 0 || m.Success != nil && !*m.Success
		r.answered(m.Call, m.Stdout+m.Stderr, failed)
	case "mcp_tool_call_end":
		if m.Result.Ok != nil {
			r.answered(m.Call, content(m.Result.Ok.Content), false)
		} else {
			r.answered(m.Call, message(m.Result.Err), true)
		}
	case "token_count":
		if r.Known = true; m.Info != nil {
			r.Usage = m.Info.Total.sum()
		} else {
			r.Usage.Add(m.codexUsage.sum())
		}
	case "error":
		r.Ended, r.Failed = false, m.Message
	}
}

type codexItem struct {
	ID, Type, Text, Server, Tool, Status string

	Command   string
	Output    string `json:"aggregated_output"`
	Exit      *int   `json:"exit_code"`
	Changes   json.RawMessage
	Arguments json.RawMessage
	Query     string
	Result    *struct{ Content json.RawMessage }
	Error     json.RawMessage
}

// codexCalls are the items that are tool calls.
var codexCalls = map[string]bool{"command_execution": true, "file_change": true, "mcp_tool_call": true, "web_search": true}

// readCodex reads the events of `codex exec --json`. Its turn is the whole conversation, so
// the number of model turns is unknown.
func readCodex(line []byte, r *Reading) {
	var e codexEvent
	if !decode(line, &e) {
		return
	}
	if e.Type == "" {
		var early codexEarly
		if decode(line, &early) {
			r.early(early)
		}
		return
	}
	switch e.Type {
	case "item.started", "item.completed":
		r.item(e.Item, e.Type == "item.completed")
	case "turn.completed":
		r.Ended, r.Failed, r.Known = true, "", true
		r.Usage.Add(e.Usage.sum())
	case "turn.failed":
		r.Ended, r.Failed = false, message(e.Error)
	case "error": // also while it retries
		r.Failed = e.Message
	}
}

// item reads text or a tool call, at its begin and end.
func (r *Reading) item(i codexItem, ended bool) {
	switch {
	case i.Type == "agent_message" && ended:
		r.said(i.Text)
	case codexCalls[i.Type]:
		r.called(i.ID, i.name(), i.args())
		if ended {
			r.answered(i.ID, i.answer(), i.Status == "failed" || i.Exit != nil && *i.Exit != 0)
		}
	}
}

func (i codexItem) name() string {
	if i.Tool != "" {
		return i.Server + "." + i.Tool
	}
	return i.Type
}

func (i codexItem) args() json.RawMessage {
	for _, raw := range []json.RawMessage{i.Arguments, i.Changes} {
		if len(raw) > 0 {
			return raw
		}
	}
	return json.RawMessage(i.Command + i.Query) // text, not JSON
}

func (i codexItem) answer() string {
	switch {
	case i.Result != nil:
		return content(i.Result.Content)
	case len(i.Error) > 0 && string(i.Error) != "null":
		return message(i.Error)
	case i.Exit != nil && *i.Exit != 0:
		return fmt.Sprintf("%s[exit %d]", i.Output, *i.Exit)
	}
	return i.Output
}
