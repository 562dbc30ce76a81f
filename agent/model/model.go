// Package model is the interface to models: a model gets a conversation and answers with text
// and tool calls (AGT-3).
package model

import (
	"context"
	"encoding/json"
	"strings"

	"git-ward/agent/tool"
	"git-ward/internal/diag"
)

// Model answers one turn. It keeps nothing between turns: all that it knows is in
// the conversation, so a run that was killed can be made again.
type Model interface {
	Turn(ctx context.Context, c *Conversation) (Reply, error)
}

// Conversation is a model's input.
type Conversation struct {
	System    string // SYSTEM.md and COMMS.md of main (AGT-2)
	Directive string // "D-1", the one that is worked on
	Title     string // its title
	Iteration int    // of the bounded loop, from 0
	Role      string // who is asked; "" is the one who does the work
	Plan      string // the path that a plan is expected at
	Tools     []tool.Tool
	Messages  []Message // the user and the model in turn, the user first

	dropped int     // turns of the model that gave way to the context window
	density float64 // bytes a token, as the provider counted last; 0: not known
}

// Role says whose a message is.
type Role string

// The two roles. Results of tools come from the user, as in the models' APIs.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is one turn of the user or of the model.
type Message struct {
	Role    Role
	Text    string
	Calls   []Call   // of the model
	Results []Result // of the user: one for each call of the message before
	On      Event    // of the user: what the text is about
	// Briefing marks a call that was put into the model's mouth: its capsule.
	Briefing bool

	// Native is a turn of the model as its provider wrote it, with what only the
	// provider understands, such as signed thinking. It goes back unchanged.
	Native json.RawMessage
}

// Event says why the user speaks.
type Event string

// The events. The first messages of a conversation have none: they ask for a plan.
const (
	Refused  Event = "refused"  // a push was refused; what was done is undone, and a new plan is asked for
	Findings Event = "findings" // the plan has findings, or there is none
	Failed   Event = "failed"   // a step of the plan failed; a new plan is asked for
	Done     Event = "done"     // all steps are done; last words are asked for
)

// Asked is the last event of a conversation, and how many turns the model took
// since.
func (c *Conversation) Asked() (event Event, turns int) {
	for _, m := range c.Messages {
		switch {
		case m.Role == User && m.On != "":
			event, turns = m.On, 0
		case m.Role == Assistant && !m.Briefing:
			turns++
		}
	}
	return event, turns
}

// Count is how often an event came.
func (c *Conversation) Count(event Event) int {
	n := 0
	for _, m := range c.Messages {
		if m.On == event {
			n++
		}
	}
	return n
}

// Reply is a turn of the model. One without calls ends the work, unless Stop says
// that it was cut.
type Reply struct {
	Text   string
	Calls  []Call
	Stop   Stop
	Usage  Usage
	Native json.RawMessage // see Message
}

// empty reports whether the turn says and does nothing.
func (r *Reply) empty() bool {
	return r.Stop == Ended && len(r.Calls) == 0 && strings.TrimSpace(r.Text) == ""
}

// worked reports whether the model has called a tool, or was asked for its last words.
func (c *Conversation) worked() bool {
	for _, m := range c.Messages {
		if m.On == Done || len(m.Calls) > 0 && !m.Briefing {
			return true
		}
	}
	return false
}

// AddText adds words of the model as a paragraph of their own; "" adds none.
func (r *Reply) AddText(text string) {
	if r.Text != "" && text != "" {
		text = "\n\n" + text
	}
	r.Text += text
}

// Stop says why a turn ended.
type Stop string

// A turn ends by itself, at the limit on its output, or by a refusal of the
// model or its provider; then its text is the reason, or nothing.
const (
	Ended     Stop = ""
	Truncated Stop = "truncated"
	Declined  Stop = "refused"
)

// Usage is tokens, as the provider counts them; Input is all of it, Cached the
// part of it that came from the cache.
type Usage struct{ Input, Cached, Output int64 }

// Add adds another usage.
func (u *Usage) Add(v Usage) {
	u.Input += v.Input
	u.Cached += v.Cached
	u.Output += v.Output
}

// Call is a tool call.
type Call struct {
	ID    string // names its result; unique in a conversation
	Name  string
	Args  json.RawMessage // a JSON object
	Fault string          // why it cannot run, such as arguments that are no JSON; then Args is {}
}

// Result is a tool call's result.
type Result struct {
	ID string
	tool.Result
}

// Turns counts the turns of the model.
func (c *Conversation) Turns() int {
	n := c.dropped
	for _, m := range c.Messages {
		if m.Role == Assistant {
			n++
		}
	}
	return n
}

// faultSize bounds what a fault repeats of arguments.
const faultSize = 500

// NewCall makes a call of arguments as a model wrote them. Those that are no JSON
// object, or that the limit on output cut off, make a call that cannot run and
// says why, so that the model can make it again.
func NewCall(id, name, args string, cut bool) Call {
	c := Call{ID: id, Name: name, Args: json.RawMessage("{}")}
	var object map[string]json.RawMessage
	err := json.Unmarshal([]byte(args), &object)
	switch {
	case err == nil && object != nil:
		c.Args = json.RawMessage(args)
	case cut:
		c.Fault = "nothing was run: the call was cut off by the limit on the output of one turn. Make it in smaller pieces."
	case strings.TrimSpace(args) != "":
		c.Fault = "nothing was run: the arguments are not a JSON object: " + diag.Cut(args, faultSize)
	}
	return c
}
