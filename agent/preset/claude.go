package preset

import (
	"encoding/json"
	"path/filepath"

	"git-ward/agent/model"
)

// setupClaude is Claude Code in print mode without permission prompts, because the fence
// confines it; as root it refuses that unless told that it is in a sandbox.
func setupClaude(s Setup) invocation {
	v := invocation{
		// WebSearch is the provider's, and a way around the fence that the gateway
		// refuses.
		args: []string{"--print", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions", "--disallowedTools=WebSearch"},
		some: [][]string{{"--strict-mcp-config"}},
		env: map[string]string{
			"ANTHROPIC_BASE_URL": s.Anthropic, "IS_SANDBOX": "1", "DISABLE_AUTOUPDATER": "1",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
			// The gateway would drop or refuse what a beta adds to a request.
			"CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS": "1",
			// MCP tools are offered directly, not through a tool search.
			"ENABLE_TOOL_SEARCH": "false",
		},
		// Early releases want a person to have accepted that they ask nobody.
		files: map[string]any{".claude.json": map[string]any{"bypassPermissionsModeAccepted": true, "hasCompletedOnboarding": true}},
	}
	if s.ID != "" {
		v.some = append(v.some, []string{"--model", s.ID})
		// Side jobs, too, are done by the model that was chosen and priced.
		for _, name := range []string{"ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL", "CLAUDE_CODE_SUBAGENT_MODEL"} {
			v.env[name] = s.ID
		}
	}
	if len(s.Server) > 0 {
		v.files["mcp.json"] = map[string]any{"mcpServers": map[string]any{
			"ward": map[string]any{"command": s.Server[0], "args": s.Server[1:]}}}
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
	Message struct {
		ID      string
		Content json.RawMessage
		Usage   *claudeUsage
	}
	Parent *string `json:"parent_tool_use_id"` // of a subagent's messages
	Usage  *claudeUsage
}

type claudeUsage struct {
	Input  int64 `json:"input_tokens"`
	Read   int64 `json:"cache_read_input_tokens"`
	Write  int64 `json:"cache_creation_input_tokens"`
	Output int64 `json:"output_tokens"`
}

func (u claudeUsage) sum() model.Usage {
	return model.Usage{Input: u.Input + u.Read + u.Write, Cached: u.Read, Output: u.Output}
}

type claudeBlock struct {
	Type, Name, Text, ID string
	Input                json.RawMessage
	ToolUseID            string `json:"tool_use_id"`
	Content              json.RawMessage
	IsError              bool `json:"is_error"`
}

// readClaude reads stream-json: the conversation's messages, then a result.
func readClaude(line []byte, r *Reading) {
	var e claudeEvent
	if !decode(line, &e) {
		return
	}
	switch e.Type {
	case "assistant", "user":
		var blocks []claudeBlock
		json.Unmarshal(e.Message.Content, &blocks) // a user's may be a string, without tool results
		for _, b := range blocks {
			r.block(b, e.Type == "assistant" && e.Parent == nil)
		}
		if e.Message.Usage != nil {
			r.spends(e.Message.ID, e.Message.Usage.sum())
		}
	case "result":
		r.Turns = e.Turns
		if e.Usage != nil { // early releases tell of the sum in the messages only
			r.Usage, r.Known = e.Usage.sum(), true
		}
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

// block reads a part of a message; own says that it is the main model's text.
func (r *Reading) block(b claudeBlock, own bool) {
	switch {
	case b.Type == "tool_use":
		r.called(b.ID, b.Name, b.Input)
	case b.Type == "tool_result":
		r.answered(b.ToolUseID, content(b.Content), b.IsError)
	case own && b.Text != "":
		r.said(b.Text)
	}
}

// spends records a message's usage. The stream repeats a message for each part with its usage
// so far, so the last one counts. The final result has the total; this is for a run without
// one.
func (r *Reading) spends(id string, u model.Usage) {
	if r.spent == nil {
		r.spent = map[string]model.Usage{}
	}
	before := r.spent[id]
	r.spent[id] = u
	r.Usage.Add(model.Usage{Input: u.Input - before.Input, Cached: u.Cached - before.Cached, Output: u.Output - before.Output})
	r.Turns, r.Known = len(r.spent), true
}
