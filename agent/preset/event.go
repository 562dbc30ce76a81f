package preset

import (
	"bytes"
	"encoding/json"
	"strings"

	"git-ward/agent/activity"
)

// Kind is the kind of an event in a stream.
type Kind int

// The kinds of events that Ward reads.
const (
	Said     Kind = iota // the model's words
	Called               // a tool begins
	Answered             // a tool has ended
)

// Event is one event in a program's stream. All of it is untrusted text, to be cleaned before
// anybody reads it.
type Event struct {
	Kind   Kind
	ID     string // pairs a call with its result; "" where the program gives none
	Tool   string // its name, in the program's words
	Text   string // text, a call's arguments, or a result
	Failed bool   // the tool reported failure
}

// actions are the programs' own tools by lower-case name. Any other tool counts as execution.
var actions = map[string]activity.Type{
	"read": activity.FileRead, "glob": activity.FileRead, "grep": activity.FileRead, "ls": activity.FileRead, "list": activity.FileRead,
	"notebookread": activity.FileRead, "read_file": activity.FileRead,
	"write": activity.FileWrite, "edit": activity.FileWrite, "multiedit": activity.FileWrite, "notebookedit": activity.FileWrite,
	"patch": activity.FileWrite, "apply_patch": activity.FileWrite, "file_change": activity.FileWrite, "write_file": activity.FileWrite,
	"webfetch": activity.ExternalRAGQuery, "websearch": activity.ExternalRAGQuery, "web_search": activity.ExternalRAGQuery,
	"todowrite": activity.PlanUpdate, "todo_list": activity.PlanUpdate,
}

// Action is the type of the activity log's line for a use of a tool.
func Action(tool string) activity.Type {
	name := strings.ToLower(tool)
	for _, server := range []string{"mcp__ward__", "ward_", "ward."} { // each program's prefix for the tools of Ward's server
		name = strings.TrimPrefix(name, server)
	}
	if action, known := actions[name]; known {
		return action
	}
	return activity.ToolExec
}

// said records the model's text.
func (r *Reading) said(text string) {
	r.Words = text
	r.tell(Event{Kind: Said, Text: text})
}

// called counts a tool call once, however often the stream reports it. Calls have ids; one
// without an id is counted as it comes.
func (r *Reading) called(id, tool string, args json.RawMessage) {
	if _, again := r.tools[id]; again && id != "" {
		return
	}
	if r.tools == nil {
		r.tools = map[string]string{}
	}
	r.tools[id] = tool
	r.Calls++
	r.tell(Event{Kind: Called, ID: id, Tool: tool, Text: compact(args)})
}

// answered records a tool call's result.
func (r *Reading) answered(id, text string, failed bool) {
	r.tell(Event{Kind: Answered, ID: id, Tool: r.tools[id], Text: text, Failed: failed})
}

func (r *Reading) tell(e Event) {
	if r.Told != nil {
		r.Told(e)
	}
}

// compact is JSON on one line; other text is unchanged.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// content is a tool result's text: a string, or a list whose text parts count.
func content(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	json.Unmarshal(raw, &parts)
	var list []string
	for _, p := range parts {
		list = append(list, p.Text)
	}
	return strings.Join(list, "\n")
}
