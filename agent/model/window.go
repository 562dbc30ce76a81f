package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Window keeps a conversation within a model's context window. It drops tool results first,
// then whole turns, each oldest first; never the system prompt, the first message, or the last
// turn.
type Window struct {
	Model  Model
	Tokens int64 // the context window; less once the provider has shown that it is
	Output int64 // what of it an answer may take
}

const (
	// guess is bytes a token before the provider has counted: fewer than any text
	// has on average, so that the guess errs on the safe side.
	guess = 3.0
	// keep is how much of the window stays when room is made. Room is made rarely
	// and in one go, because each time the provider's prompt cache is lost.
	keep = 0.6
	// small results are not worth leaving out.
	small = 200
)

// Turn asks the model with a conversation that fits.
func (w *Window) Turn(ctx context.Context, c *Conversation) (Reply, error) {
	room := float64(w.Tokens-w.Output) * c.bytesPerToken()
	if float64(c.size()) > room {
		c.shrink(int(room * keep))
	}
	learned := w.Tokens
	for {
		before := c.size()
		reply, err := w.Model.Turn(ctx, c)
		var t *Trouble
		if errors.As(err, &t) && (t.Kind == TooLong || t.Kind == Rejected && w.mayBeTooLong(before, c)) {
			// The provider counts more than was thought, or has less room.
			learned = min(learned, w.Output+int64(0.9*float64(before)/c.bytesPerToken()))
			if c.shrink(int(float64(before) * keep)); c.size() < before {
				continue
			}
			return Reply{}, fmt.Errorf("nothing more can be left out: %w", err)
		}
		if err == nil {
			w.Tokens = learned
		}
		if err == nil && reply.Usage.Input > 0 {
			c.density = float64(before) / float64(reply.Usage.Input)
		}
		return reply, err
	}
}

// mayBeTooLong reports whether a request that the provider rejected, without a code that
// says why, is large enough for its length to be the reason. Where it was another, the
// shorter conversations are rejected, too, until they are too short for this.
func (w *Window) mayBeTooLong(size int, c *Conversation) bool {
	const some = 0.25 // of the window: how much a wrong setting is off at most
	return float64(size) > some*float64(w.Tokens-w.Output)*c.bytesPerToken()
}

func (c *Conversation) bytesPerToken() float64 {
	if c.density > 0 {
		return c.density
	}
	return guess
}

// size is about how many bytes a request takes.
func (c *Conversation) size() int {
	n := len(c.System)
	for _, t := range c.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	for i := range c.Messages {
		n += c.Messages[i].size()
	}
	return n
}

func (m *Message) size() int {
	n := max(len(m.Native), len(m.Text))
	if m.Native == nil {
		for _, call := range m.Calls {
			n += len(call.Name) + len(call.Args)
		}
	}
	for _, r := range m.Results {
		n += len(r.Text)
	}
	return n
}

// shrink leaves out until the size is at most target, or nothing is left that may
// go.
func (c *Conversation) shrink(target int) {
	left := c.size()
	for i := 0; i < len(c.Messages)-1 && left > target; i++ {
		for j := range c.Messages[i].Results {
			r := &c.Messages[i].Results[j]
			if left <= target || len(r.Text) <= small {
				continue
			}
			before := len(r.Text)
			r.Text = fmt.Sprintf("[left out to make room: %d bytes. Call the tool again if they are needed.]", before)
			left -= before - len(r.Text)
		}
	}
	for left > target && c.dropTurn() {
		left = c.size()
	}
}

// dropTurn removes the oldest turn of the model with the results of its calls. A
// turn whose next message has words, such as why a push was refused, stays, as
// does the last one.
func (c *Conversation) dropTurn() bool {
	for i := range max(0, len(c.Messages)-2) {
		results := c.Messages[i+1]
		if c.Messages[i].Role == Assistant && results.Role == User && results.Text == "" {
			c.Messages = slices.Delete(slices.Clone(c.Messages), i, i+2)
			c.dropped++
			return true
		}
	}
	return false
}
