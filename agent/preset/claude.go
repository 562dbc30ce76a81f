package preset

import (
	"encoding/json"
	"path/filepath"

	"git-ward/agent/model"
)

// setupClaude is Claude Code in print mode, which asks nobody. Its leave to do
// all is the fence's business; as root it insists to be told that there is one.
func setupClaude(s Setup) invocation {
	v := invocation{
		// WebSearch is the provider's, and a way around the fence that the gateway
		// refuses.
		args: []string{"--print", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions",
			"--disallowedTools=WebSearch", "--strict-mcp-config"},
		env: map[string]string{
			"ANTHROPIC_BASE_URL": s.Anthropic, "IS_SANDBOX": "1", "DISABLE_AUTOUPDATER": "1",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
			// What a beta adds to a request the gateway would drop or refuse.
			"CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS": "1",
			// Tools of an MCP server are offered at once, not by a search for them.
			"ENABLE_TOOL_SEARCH": "false",
		},
	}
	if s.ID != "" {
		v.args = append(v.args, "--model", s.ID)
		// Side jobs, too, are done by the model that was chosen and priced.
		v.env["ANTHROPIC_DEFAULT_HAIKU_MODEL"], v.env["CLAUDE_CODE_SUBAGENT_MODEL"] = s.ID, s.ID
	}
	if len(s.Server) > 0 {
		v.files = map[string]any{"mcp.json": map[string]any{"mcpServers": map[string]any{
			"ward": map[string]any{"command": s.Server[0], "args": s.Server[1:]}}}}
		v.args = append(v.args, "--mcp-config", filepath.Join(s.Home, "mcp.json"))
	}
	return v
}

type claudeEvent struct {
	Type    string
	Subtype string
	IsError bool `json:"is_error"`
	Result  string
	Turns   int `json:"num_turns"`
	Errors  []string
	Message struct{ Content json.RawMessage }
	Usage   struct {
		Input  int64 `json:"input_tokens"`
		Read   int64 `json:"cache_read_input_tokens"`
		Write  int64 `json:"cache_creation_input_tokens"`
		Output int64 `json:"output_tokens"`
	}
}

// readClaude reads stream-json: the messages of the conversation, then a result.
func readClaude(line []byte, r *Reading) {
	var e claudeEvent
	if !decode(line, &e) {
		return
	}
	switch e.Type {
	case "assistant":
		var content []struct{ Type, Name, Text string }
		json.Unmarshal(e.Message.Content, &content)
		for _, c := range content {
			if c.Type == "tool_use" {
				r.call(c.Name)
			} else if c.Text != "" {
				r.Words = c.Text
			}
		}
	case "result":
		u := e.Usage
		r.Turns = e.Turns
		r.Usage = model.Usage{Input: u.Input + u.Read + u.Write, Cached: u.Read, Output: u.Output}
		r.Ended = e.Subtype == "success" && !e.IsError
		if e.Result != "" {
			r.Words = e.Result
		}
		if !r.Ended {
			r.Failed = e.Result
			if len(e.Errors) > 0 {
				r.Failed = e.Errors[0]
			} else if r.Failed == "" {
				r.Failed = e.Subtype
			}
		}
	}
}
