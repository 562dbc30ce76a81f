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
	Refusal bool     // of the user: the text says why a push was refused
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
