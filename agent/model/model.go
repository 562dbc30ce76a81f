// Package model is the interface to models: a model gets a conversation and answers with text
// and tool calls (AGT-3).
package model

import (
	"context"
	"encoding/json"
	"slices"
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
	System    string // SYSTEM.md and COMMS.md from main (AGT-2)
	Directive string // "D-1", the one that is worked on
	Title     string // its title
	Iteration int    // number in the bounded loop, from 0
	Role      string // who is asked; "" is the one who does the work
	Plan      string // path where a plan is expected
	Tools     []tool.Tool
	Messages  []Message // alternating, the user first

	dropped int     // turns dropped to fit the context window
	density float64 // bytes a token, by the provider's last count; 0: unknown
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
	Results []Result // user: one result for each call of the previous message
	On      Event    // user: the text's subject
	// Briefing marks a call that the model did not make itself: its capsule.
	Briefing bool

	// Native is a turn in the provider's own form, with parts that only the provider
	// understands, such as signed thinking. It is sent back unchanged.
	Native json.RawMessage
}

// Event says why the user speaks.
type Event string

// The events. The first messages of a conversation have none: they ask for a plan.
const (
	Refused  Event = "refused"  // the push was refused and undone; a new plan is requested
	Findings Event = "findings" // the plan has findings, or there is none
	Failed   Event = "failed"   // a step of the plan failed; a new plan is requested
	Done     Event = "done"     // all steps are done; the final text is requested
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

// empty reports whether the turn has neither text nor calls.
func (r *Reply) empty() bool {
	return r.Stop == Ended && len(r.Calls) == 0 && strings.TrimSpace(r.Text) == ""
}

// worked reports whether the model has called a tool, or was asked for its final text.
func (c *Conversation) worked() bool {
	return slices.ContainsFunc(c.Messages, func(m Message) bool { return m.On == Done || len(m.Calls) > 0 && !m.Briefing })
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
	ID    string // identifies its result; unique in a conversation
	Name  string
	Args  json.RawMessage // a JSON object
	Fault string          // why it cannot run, such as invalid JSON; then Args is {}
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
