package model

import (
	"context"
	"errors"
	"fmt"
	"time"

	"git-ward/internal/diag"
)

// Instead begins what is said of a turn that another model takes over.
const Instead = "Another model goes on: "

// Standby is several models, in order. Where one is away, because it is busy for longer than it is
// waited for or is not there, the next one goes on with the conversation. The first is asked
// again in a conversation that begins after the pause.
type Standby struct {
	Models []Named
	Pause  time.Duration
	Note   func(text string) // called at each change

	at    int       // index of the model in use
	since time.Time // when it took over
}

// Named is a model, and its name at the provider.
type Named struct {
	Name  string
	Model Model
}

// Turn is that of the first model which is not away.
func (s *Standby) Turn(ctx context.Context, c *Conversation) (Reply, error) {
	if s.at > 0 && c.begins() && time.Since(s.since) >= s.Pause {
		s.at = 0
	}
	for {
		reply, err := s.Models[s.at].Model.Turn(ctx, c)
		if err == nil || ctx.Err() != nil || !away(err) || s.at == len(s.Models)-1 {
			return reply, err
		}
		from, to := s.Models[s.at].Name, s.Models[s.at+1].Name
		s.at, s.since = s.at+1, time.Now()
		s.Note(fmt.Sprintf("%s%s, for %s is away: %s", Instead, diag.Clean(to), diag.Clean(from), diag.Clean(diag.Cut(err.Error(), 300))))
		for i := range c.Messages { // which only the model that wrote them understands
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
	return errors.As(err, &t) && (t.Kind == Busy || t.Kind == Absent)
}
