package preset

import (
	"encoding/json"
	"fmt"
	"strings"

	"git-ward/agent/model"
)

// setupCodex is `codex exec`. Its own sandbox is off: the fence is stronger, and
// a sandbox does not start inside one.
func setupCodex(s Setup) invocation {
	v := invocation{
		args: []string{"exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"},
		env:  map[string]string{"CODEX_HOME": s.Home},
	}
	set := func(key, value string) { v.args = append(v.args, "-c", key+"="+value) }
	set("model_provider", quote("ward"))
	set("model_providers.ward", fmt.Sprintf(`{name="ward", base_url=%s, env_key="OPENAI_API_KEY", wire_api="responses"}`, quote(s.OpenAI)))
	// The provider's search is a way around the fence that the gateway refuses.
	set("web_search", quote("disabled"))
	set("analytics.enabled", "false")
	set("check_for_update_on_startup", "false")
	set("history.persistence", quote("none"))
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

// quote writes a string of TOML, whose escapes are those of JSON for all that
// stands in a path or a URL.
func quote(s string) string {
	data, _ := json.Marshal(s) // a string: cannot fail
	return string(data)
}

type codexEvent struct {
	Type    string
	Message string
	Error   json.RawMessage
	Item    struct{ Type, Text, Server, Tool string }
	Usage   struct {
		Input  int64 `json:"input_tokens"`
		Cached int64 `json:"cached_input_tokens"`
		Output int64 `json:"output_tokens"`
	}
}

// codexCalls are the items that are uses of tools.
var codexCalls = map[string]bool{"command_execution": true, "file_change": true, "mcp_tool_call": true, "web_search": true}

// readCodex reads the events of `codex exec --json`. Its turn is the whole
// conversation, so the number of the model's turns is not known.
func readCodex(line []byte, r *Reading) {
	var e codexEvent
	if !decode(line, &e) {
		return
	}
	switch e.Type {
	case "item.completed":
		switch {
		case e.Item.Type == "agent_message":
			r.Words = e.Item.Text
		case codexCalls[e.Item.Type]:
			name := e.Item.Type
			if e.Item.Tool != "" {
				name = e.Item.Server + "." + e.Item.Tool
			}
			r.call(name)
		}
	case "turn.completed":
		r.Ended, r.Failed = true, ""
		r.Usage.Add(model.Usage{Input: e.Usage.Input, Cached: e.Usage.Cached, Output: e.Usage.Output})
	case "turn.failed":
		r.Ended, r.Failed = false, message(e.Error)
	case "error": // also while it tries again
		r.Failed = e.Message
	}
}
