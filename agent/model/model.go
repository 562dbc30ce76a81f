// Package model is who works: something that is shown a conversation and answers
// with text and calls of tools (AGT-3).
package model

import (
	"context"
	"encoding/json"

	"git-ward/agent/tool"
)

// Model answers one turn. It keeps nothing between turns: all that it knows is in
// the conversation, so a run that was killed can be made again.
type Model interface {
	Turn(ctx context.Context, c *Conversation) (Reply, error)
}

// Conversation is what a model is shown.
type Conversation struct {
	System    string // SYSTEM.md and COMMS.md of main (AGT-2)
	Directive string // "D-1", the one that is worked on
	Title     string // its title
	Plan      string // the path that a plan is expected at
	Tools     []tool.Tool
	Messages  []Message // the user and the model in turn, the user first
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
}

// Event is why the user says something.
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
		case m.Role == Assistant:
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

// Reply is a turn of the model. One without calls ends the work.
type Reply struct {
	Text  string
	Calls []Call
}

// Call is a use of a tool.
type Call struct {
	ID   string // names its result; unique in a conversation
	Name string
	Args json.RawMessage
}

// Result is what a call gave.
type Result struct {
	ID string
	tool.Result
}

// Turns counts the turns of the model.
func (c *Conversation) Turns() int {
	n := 0
	for _, m := range c.Messages {
		if m.Role == Assistant {
			n++
		}
	}
	return n
}
