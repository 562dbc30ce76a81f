package model

import (
	"context"
	"errors"
)

// Standby is several models, in order. Where one is away, because it is busy for longer than it is
// waited for, breaks off each time, or is not there, the next one goes on with the conversation. The first is asked
// again in a conversation that begins after the pause.
type Standby struct {
	Order
	Models []Model // one for each name
}

// Turn is that of the first model which is not away.
func (s *Standby) Turn(ctx context.Context, c *Conversation) (Reply, error) {
	if c.begins() {
		s.Begin()
	}
	for {
		reply, err := s.Models[s.at].Turn(ctx, c)
		if err == nil || ctx.Err() != nil || !away(err) || !s.Next(err.Error()) {
			return reply, err
		}
		for i := range c.Messages { // which only the model understands that wrote them
			c.Messages[i].Native = nil
		}
	}
}

// begins reports whether no model has had a turn yet.
func (c *Conversation) begins() bool {
	for _, m := range c.Messages {
		if m.Role == Assistant && !m.Briefing {
			return false
		}
	}
	return c.dropped == 0
}

// away reports whether another model may succeed where this one fails. A refused key, a spent
// budget and a conversation that is too long are the same for all.
func away(err error) bool {
	var t *Trouble
	return errors.As(err, &t) && (t.Kind == Busy || t.Kind == Absent || t.Kind == Broken)
}
