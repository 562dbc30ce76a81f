package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"git-ward/agent/interaction"
	"git-ward/agent/model"
	"git-ward/agent/stop"
	"git-ward/agent/tool"
	"git-ward/internal/gittest"
	"git-ward/protocols/uow"
)

// player answers with prepared replies, the last one again and again.
type player struct {
	replies []model.Reply
	err     error
	asked   int
}

func (p *player) Turn(context.Context, *model.Conversation) (model.Reply, error) {
	p.asked++
	if p.err != nil {
		return model.Reply{}, p.err
	}
	return p.replies[min(p.asked, len(p.replies))-1], nil
}

// newSession is one with the tools of an empty working tree.
func newSession(t *testing.T, m model.Model) *Session {
	box := &tool.Box{Dir: t.TempDir(), State: t.TempDir(), WriteSize: 100}
	return &Session{Model: m, Name: "player", MaxTurns: 8, Log: zerolog.Nop(), Talk: model.Conversation{Tools: box.Tools()}}
}

func says(text string) model.Reply { return model.Reply{Text: text} }

func calls(name, args string) model.Reply {
	return model.Reply{Calls: []model.Call{{ID: "1", Name: name, Args: json.RawMessage(args)}}}
}

func TestRun(t *testing.T) {
	write := calls("write_file", `{"path": "a", "content": "x"}`)
	for name, c := range map[string]struct {
		replies []model.Reply
		err     error
		words   string
		kind    stop.Kind
		why     string // a part of the error
	}{
		"words":             {replies: []model.Reply{says("Done.")}, words: "Done."},
		"a call, words":     {replies: []model.Reply{write, says("Done.")}, words: "Done."},
		"the last words":    {replies: []model.Reply{{Text: "I write.", Calls: write.Calls}, {}}, words: "I write."},
		"cut off":           {replies: []model.Reply{{Text: "Half", Stop: model.Truncated}, says("a sentence.")}, words: "a sentence."},
		"without end":       {replies: []model.Reply{write}, kind: stop.Unfinished, why: "within 8 turns"},
		"declined":          {replies: []model.Reply{{Text: "Not that.", Stop: model.Declined}}, kind: stop.Unfinished, why: "refused to go on"},
		"not paid for":      {err: &model.Trouble{Kind: model.Spent, Err: errors.New("402")}, kind: stop.Spent, why: "not paid for any more: 402."},
		"too long":          {err: &model.Trouble{Kind: model.TooLong, Err: errors.New("400")}, kind: stop.Unfinished, why: "context window"},
		"broken":            {err: &model.Trouble{Kind: model.Broken, Err: errors.New("cut")}, kind: stop.Outage, why: "broken: cut"},
		"busy":              {err: fmt.Errorf("busy: %w", &model.Trouble{Kind: model.Busy, Err: errors.New("503")}), kind: stop.Outage, why: "does not answer: busy: 503"},
		"rejected":          {err: &model.Trouble{Kind: model.Rejected, Err: errors.New("400")}, kind: stop.Unfinished, why: "does not take the conversation: 400."},
		"a bad key":         {err: &model.Trouble{Kind: model.Fatal, Err: errors.New("401")}, kind: stop.Denied, why: "cannot be asked: 401"},
		"held":              {err: &model.Trouble{Kind: model.Held, Err: errors.New("403")}, kind: stop.Suspended, why: "not to be worked on now"},
		"something unknown": {err: errors.New("eof"), why: "model player: eof"},
	} {
		s := newSession(t, &player{replies: c.replies, err: c.err})
		words, err := s.Run(t.Context())
		if words != c.words || stop.KindOf(err) != c.kind || (err != nil) != (c.why != "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %q, %v", name, words, err)
		}
	}
}

// TestAnswers: what a call gives goes back to the model, errors too, and is counted.
func TestAnswers(t *testing.T) {
	transcript := new(interaction.Transcript)
	fault := model.Reply{Calls: []model.Call{{ID: "2", Name: "write_file", Args: json.RawMessage("{}"), Fault: "cut off"}}}
	s := newSession(t, &player{replies: []model.Reply{calls("write_file", `{"path": "a", "content": "x"}`), fault, calls("fly", "{}"), says("Done.")}})
	s.Transcript = transcript
	s.Tell("", "Begin.")
	if _, err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var results []string
	for _, m := range s.Talk.Messages {
		for _, r := range m.Results {
			results = append(results, r.Text)
		}
	}
	told := s.Told()
	for i, want := range []string{"a", "cut off", `no tool "fly"`} {
		if i >= len(results) || !strings.Contains(results[i], want) || !strings.Contains(told, want) {
			t.Errorf("%q lacks %q", results, want)
		}
	}
	gittest.InOrder(t, transcript.Text(), "* Begin.", `> write_file {"path": "a", "content": "x"}`, "\n< ", "> write_file {}\n< failed: cut off", `> fly {}`, `< failed: there is no tool "fly"`, "\nDone.\n")
	if s.Tally.Calls != 3 || s.Tally.Turns != 4 {
		t.Errorf("%+v", s.Tally)
	}
}

// TestBounds: calls are bounded in all, and the Guard's order holds for the model.
func TestBounds(t *testing.T) {
	s := newSession(t, &player{replies: []model.Reply{calls("read_file", `{"path": "a"}`)}})
	s.Gate = &interaction.Gate{MaxCalls: 2}
	if _, err := s.Run(t.Context()); !stop.Is(err, stop.Unfinished) || s.Tally.Calls != 2 {
		t.Errorf("%v after %d calls", err, s.Tally.Calls)
	}
	s = newSession(t, &player{replies: []model.Reply{calls("bash", `{"command": "touch ran"}`), {Text: "so be it"}}})
	s.Gate = &interaction.Gate{Guard: uow.NewGuard(uow.Policy{Sequence: []string{"read_file", "bash"}})}
	if words, err := s.Run(t.Context()); err != nil || words != "so be it" || !strings.Contains(s.Told(), "Guard: ") {
		t.Errorf("%q, %v: bash came before read_file, and was told %q", words, err, s.Told())
	}
}

// TestBrief: the capsule comes as the result of a call, and is no turn of the model's.
func TestBrief(t *testing.T) {
	s := newSession(t, nil)
	s.Tell("", "Continue.")
	s.Brief(2, "evidence/capsule.json", []byte(`{"loop": 1}`))
	m := s.Talk.Messages
	if len(m) != 3 || !m[1].Briefing || string(m[1].Calls[0].Args) != `{"path":"evidence/capsule.json"}` || m[2].Results[0].ID != m[1].Calls[0].ID || s.Talk.Iteration != 2 {
		t.Errorf("%+v", m)
	}
	if told := s.Told(); told != "Continue.\n\n\n{\"loop\": 1}\n" {
		t.Errorf("%q", told)
	}
}
