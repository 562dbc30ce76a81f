// Package mcp offers Ward's tools to people's own agent programs by the Model Context Protocol
// (AGT-7): the five tools of Ward's own agent, its commands as typed tools, a question to the
// PM, and what the work rests on as resources. It is only an interface: it runs what the shell
// would run, as the same user.
package mcp

import (
	"context"
	"encoding/json"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"git-ward/agent/stop"
	"git-ward/agent/tool"
)

// Options say what the server offers, and where it works.
type Options struct {
	Version  string
	Box      *tool.Box          // the five tools
	Commands map[string]Command // git ward's commands, by their first word; missing ones are not offered
	Task     string             // the directive at hand, "" for none
	Ask      string             // the file that takes a question to the PM, "" where nobody waits for one
}

// Command runs one of git ward's commands in the working tree as the shell would,
// and returns its exit code; errors are on stderr, with their remedies.
type Command func(ctx context.Context, args []string, stdout, stderr io.Writer) (exit int)

// instructions describe the server for the client's model.
const instructions = "Ward guards this repository: git push goes through its checks, and COMMS.md is how its people and agents talk. " +
	"task_start says what is known before you begin, plan_grammar how a plan is written. Lint plans before you follow them; reports are appended with comms_report and count when they are pushed."

// New makes a server. It answers until its transport ends.
func New(o Options) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "ward", Title: "Ward", Version: o.Version}, &sdk.ServerOptions{Instructions: instructions})
	for _, t := range o.Box.Tools() {
		s.AddTool(&sdk.Tool{Name: t.Name, Description: t.Description, InputSchema: t.Schema}, o.own(t.Name))
	}
	o.addCommands(s)
	o.addResources(s)
	if o.Ask != "" {
		o.addAsk(s)
	}
	return s
}

// own is a tool of Ward's own agent.
func (o *Options) own(name string) sdk.ToolHandler {
	return func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		result, err := tool.Call(ctx, o.Box.Tools(), name, json.RawMessage(r.Params.Arguments))
		if stop.Is(err, stop.Restart) {
			// The signal is written; the program that uses this server must end.
			result.Text += ": the signal is written. End your work now; the watcher does the rest."
			err = nil
		}
		if err != nil {
			return nil, err
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: result.Text}}, IsError: result.IsError}, nil
	}
}
