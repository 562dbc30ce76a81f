package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// scripted answers by a function, and counts.
type scripted struct {
	turn  func(c *Conversation) (Reply, error)
	asked int
}

func (s *scripted) Turn(_ context.Context, c *Conversation) (Reply, error) {
	s.asked++
	return s.turn(c)
}

// TestStandby: where a model is away, the next one goes on with the conversation, once without
// what only the other understands; what is not its fault goes to nobody else; and the first one
// is asked again, but only in a conversation that begins, and after the pause.
func TestStandby(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var trouble error
		var seen []string
		first := &scripted{turn: func(*Conversation) (Reply, error) { return Reply{Text: "first", Native: []byte(`["signed"]`)}, trouble }}
		second := &scripted{turn: func(c *Conversation) (Reply, error) {
			seen = append(seen, fmt.Sprint(slices.ContainsFunc(c.Messages, func(m Message) bool { return m.Native != nil })))
			return Reply{Text: "second", Native: []byte(`["own"]`)}, nil
		}}
		var told []string
		s := &Standby{Order{Names: []string{"one", "two"}, Pause: time.Minute, Note: func(text string) { told = append(told, text) }}, []Model{first, second}}
		c := &Conversation{Messages: []Message{{Role: User, Text: "Continue."}, {Role: Assistant, Briefing: true}}}
		turn := func(want string) {
			t.Helper()
			r, err := s.Turn(t.Context(), c)
			if err != nil || r.Text != want {
				t.Fatalf("%q, %v; %q was to answer", r.Text, err, want)
			}
			c.Messages = append(c.Messages, Message{Role: Assistant, Text: r.Text, Native: r.Native})
		}
		turn("first")
		for _, kind := range []Kind{Fatal, Rejected, TooLong, Spent, Held} {
			trouble = &Trouble{Kind: kind, Err: errors.New("no")}
			if _, err := s.Turn(t.Context(), c); !errors.Is(err, trouble) || second.asked > 0 {
				t.Errorf("trouble of kind %d is another model's, too: %v", kind, err)
			}
		}
		trouble = fmt.Errorf("busy for longer than 5m: %w", &Trouble{Kind: Busy, Err: errors.New("529 overloaded_error: no")})
		turn("second")
		trouble = nil
		time.Sleep(2 * time.Minute) // of the clock of this bubble: the pause is over
		turn("second")              // the conversation is its own by now
		if !slices.Equal(seen, []string{"false", "true"}) {
			t.Errorf("it was shown what only the other one understands, or not its own words: %v", seen)
		}
		if len(told) != 1 || told[0] != Instead+"two, for one is away: busy for longer than 5m: 529 overloaded_error: no" {
			t.Errorf("%q", told)
		}
		c = &Conversation{Messages: c.Messages[:2]}
		turn("first")
		trouble = &Trouble{Kind: Absent, Err: errors.New("404 not_found_error: model: one")}
		turn("second")
		c, trouble = &Conversation{Messages: c.Messages[:2]}, nil
		turn("second")              // within the pause
		time.Sleep(2 * time.Minute) // of the clock of this bubble: the pause is over
		c, trouble = &Conversation{Messages: c.Messages[:2]}, fmt.Errorf("6 times: %w", &Trouble{Kind: Broken, Err: ErrCut})
		turn("second")
		if len(told) != 3 || !strings.Contains(told[1], "404") || !strings.Contains(told[2], "6 times: "+ErrCut.Error()) {
			t.Errorf("%q", told)
		}
		second.turn = func(*Conversation) (Reply, error) { return Reply{}, &Trouble{Kind: Busy, Err: errors.New("the last")} }
		if _, err := s.Turn(t.Context(), c); err == nil || err.Error() != "the last" {
			t.Errorf("nobody is left, and yet: %v", err)
		}
	})
}
