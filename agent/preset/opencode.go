package preset

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"git-ward/agent/model"
	"git-ward/internal/config"
)

// setupOpencode is `opencode run`. Its model names have the form provider/model; one without a
// provider is Anthropic's by its name, else OpenAI's.
func setupOpencode(s Setup) invocation {
	provider, id, found := strings.Cut(s.ID, "/")
	if !found {
		provider, id = string(s.provider), s.ID
	}
	full := provider + "/" + id
	url := s.OpenAI
	if s.provider == config.Anthropic {
		url = s.Anthropic + "/v1"
	}
	settings := map[string]any{
		"models":  map[string]any{id: map[string]any{"name": id}},
		"options": map[string]any{"baseURL": url, "apiKey": "ward"},
	}
	if p := config.Provider(provider); p != config.Anthropic && p != config.OpenAI { // the user's own name: Chat Completions
		settings["npm"] = "@ai-sdk/openai-compatible"
	}
	config := map[string]any{
		"autoupdate": false, "share": "disabled", "snapshot": false, "permission": "allow",
		"model": full, "small_model": full, // side jobs, too
		"enabled_providers": []string{provider},
		"provider":          map[string]any{provider: settings},
	}
	if len(s.Server) > 0 {
		config["mcp"] = map[string]any{"ward": map[string]any{"type": "local", "command": s.Server, "enabled": true}}
	}
	return invocation{
		args: []string{"run", "--format", "json", "--model", full},
		env: map[string]string{
			"OPENCODE_CONFIG": filepath.Join(s.Home, "opencode.json"), "OPENCODE_DISABLE_MODELS_FETCH": "1",
			"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
		},
		files: map[string]any{"opencode.json": config},
	}
}

type opencodeEvent struct {
	Type  string
	Error json.RawMessage
	Part  struct {
		Tool, Text, Reason string
		Call               string `json:"callID"`
		State              struct {
			Status, Output string
			Input          json.RawMessage
			Error          json.RawMessage
		}
		Tokens struct {
			Input, Output, Reasoning int64
			Cache                    struct{ Read, Write int64 }
		}
	}
}

// readOpencode reads the events of `opencode run --format json`: message parts, and usage at
// each step's end.
func readOpencode(line []byte, r *Reading) {
	var e opencodeEvent
	if !decode(line, &e) {
		return
	}
	switch e.Type {
	case "text":
		r.said(e.Part.Text)
	case "tool_use": // reported at its end
		state := e.Part.State
		r.called(e.Part.Call, e.Part.Tool, state.Input)
		if state.Status == "error" {
			r.answered(e.Part.Call, message(state.Error), true)
		} else {
			r.answered(e.Part.Call, state.Output, false)
		}
	case "step_finish":
		t := e.Part.Tokens
		r.Turns++
		r.Known = true
		r.Usage.Add(model.Usage{Input: t.Input + t.Cache.Read + t.Cache.Write, Cached: t.Cache.Read, Output: t.Output + t.Reasoning})
		r.Ended = e.Part.Reason == "stop"
	case "error":
		r.Ended, r.Failed = false, message(e.Error)
	}
}
