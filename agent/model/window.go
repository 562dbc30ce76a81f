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
	Tokens int64 // tokens of the context window; lowered when the provider refuses earlier
	Output int64 // tokens of it that an answer may take
}

const (
	// guess is bytes a token before the provider has counted: lower than any text's average,
	// to be safe.
	guess = 3.0
	// keep is the share of the window that remains after shrinking. It shrinks rarely and a
	// lot at once, because each time the provider's prompt cache is lost.
	keep = 0.6
	// small results are not worth removing.
	small = 200
)

// Turn asks the model with a conversation that fits.
func (w *Window) Turn(ctx context.Context, c *Conversation) (Reply, error) {
	if room := float64(w.Tokens-w.Output) * c.bytesPerToken(); float64(c.size()) > room {
		c.shrink(int(room * keep))
	}
	learned := w.Tokens
	for {
		before := c.size()
		reply, err := w.Model.Turn(ctx, c)
		if t, ok := errors.AsType[*Trouble](err); ok && (t.Kind == TooLong || t.Kind == Rejected && w.mayBeTooLong(before, c)) {
			// The provider counts more than was estimated, or its window is smaller.
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

// mayBeTooLong reports whether a rejected request without a specific error code is long enough
// to be too long. If the reason was another, shorter conversations are rejected as well, until
// they are too short for this.
func (w *Window) mayBeTooLong(size int, c *Conversation) bool {
	const some = 0.25 // share of the window: the largest assumed error of the setting
	return float64(size) > some*float64(w.Tokens-w.Output)*c.bytesPerToken()
}

func (c *Conversation) bytesPerToken() float64 {
	if c.density > 0 {
		return c.density
	}
	return guess
}

// size is a request's approximate size in bytes.
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

// shrink removes old content until the size is at most target, or nothing more may go.
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

// dropTurn removes the model's oldest turn with its calls' results. It keeps the last turn,
// and one whose next message has text, such as why a push was refused.
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
