package model

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/lease"
)

// BuiltinScript is what the script model plays where main has no script of its
// own.
//
//go:embed builtin.jsonl
var BuiltinScript []byte

// BuiltinName stands for BuiltinScript's path in messages.
const BuiltinName = "built-in script"

// Script plays turns that somebody wrote down: for demo and tests. It costs
// nothing, knows nothing, and does the same every time.
//
// A script is JSON lines, one turn each; blank lines and those that begin with
// `#` are skipped:
//
//	{"text": "...", "calls": [{"name": "write_file", "args": {...}}]}
//
// "directive": "D-1" keeps a line for that directive; without it a line is for
// every one.
// "iteration": 2 keeps a line for that iteration of the bounded loop, counted from
// 0; without it a line is played in every one. "role": "Skeptic" keeps a line for
// the review of an iteration; without it a line is for who does the work. In every
// string `{directive}` and `{title}` stand for the directive at hand.
//
// Asked for a plan, the script makes one of its lines up to the first without
// calls, or with one that is no step of a plan: what it would have done turn by
// turn becomes the steps (compile.go). What is left is played when the plan is
// done; a line without calls ends the work. After a refused push the lines with
// "on": "refused" are used in the same way: each refusal goes on where the last
// one ended.
//
// A script may plan by itself: lines with "on": "plan" are played as they are
// while a plan is asked for, also after findings, and the others only when it is
// done.
type Script struct {
	lines []scriptLine
}

type scriptLine struct {
	Directive string       `json:"directive"`
	On        string       `json:"on"`
	Iteration *int         `json:"iteration"`
	Role      string       `json:"role"`
	Text      string       `json:"text"`
	Calls     []scriptCall `json:"calls"`
}

type scriptCall struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// What a line may be played on.
const (
	onRefused = "refused"
	onPlan    = "plan"
)

// ParseScript reads a script; name is its path in messages. It reports the first
// fault as name:line.
func ParseScript(data []byte, name string) (*Script, error) {
	s := new(Script)
	num := 0
	for raw := range bytes.Lines(data) {
		num++
		raw = bytes.TrimSpace(raw)
		if len(raw) == 0 || raw[0] == '#' {
			continue
		}
		line, err := parseLine(raw)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, num, err)
		}
		s.lines = append(s.lines, line)
	}
	return s, nil
}

func parseLine(raw []byte) (scriptLine, error) {
	var line scriptLine
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&line); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the JSON object does not end on this line")
		}
		return line, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return line, errors.New("a line holds one JSON object")
	}
	if line.On != "" && line.On != onRefused && line.On != onPlan {
		return line, fmt.Errorf("%q is not something to be played on; there are %q and %q", line.On, onRefused, onPlan)
	}
	if line.Directive != "" && !lease.IsDirective(line.Directive) {
		return line, fmt.Errorf("%q is not the name of a directive, as D-1 is", line.Directive)
	}
	if line.Role != "" && line.Role != "Skeptic" {
		return line, fmt.Errorf("%q is not a role that lines are kept for; there is only %q", line.Role, "Skeptic")
	}
	for i, c := range line.Calls {
		if c.Name == "" {
			return line, fmt.Errorf("call %d has no name", i+1)
		}
	}
	return line, nil
}

// Turn plays the line that the conversation has come to. The position is counted
// in the conversation and kept nowhere.
func (s *Script) Turn(_ context.Context, c *Conversation) (Reply, error) {
	event, turns := c.Asked()
	if c.Role != "" { // no plan is requested from that one
		return line(s.pick(c, ""), turns, c)
	}
	own := s.pick(c, onPlan)
	if event == Done {
		rest := s.chunk(c)
		if len(own) == 0 {
			_, rest = split(rest)
		}
		return line(rest, turns, c)
	}
	if len(own) > 0 {
		return line(own, planning(c), c)
	}
	lines := s.chunk(c)
	if turns > 0 || event == Findings || event == Failed || event == Refused && len(lines) == 0 {
		return Reply{}, nil // the plan is written, or there is no other
	}
	steps, _ := split(lines)
	return compile(steps, c)
}

// line is a line's reply; Reply{} after the last.
func line(lines []scriptLine, position int, c *Conversation) (Reply, error) {
	if position >= len(lines) {
		return Reply{}, nil
	}
	return lines[position].reply(c)
}

// planning counts the turns used for plans.
func planning(c *Conversation) (turns int) {
	var event Event
	for _, m := range c.Messages {
		if m.On != "" {
			event = m.On
		}
		if m.Role == Assistant && !m.Briefing && event != Done {
			turns++
		}
	}
	return turns
}

// pick lists the directive's lines of one kind.
func (s *Script) pick(c *Conversation, on string) (list []scriptLine) {
	for _, line := range s.lines {
		if line.On == on && (line.Directive == "" || line.Directive == c.Directive) &&
			line.Role == c.Role && (line.Iteration == nil || *line.Iteration == c.Iteration) {
			list = append(list, line)
		}
	}
	return list
}

// chunk is the lines for this request: the first ones or, after a refusal, the remaining ones
// up to the first without calls.
func (s *Script) chunk(c *Conversation) []scriptLine {
	refusals := c.Count(Refused)
	if refusals == 0 {
		return s.pick(c, "")
	}
	lines := s.pick(c, onRefused)
	for ; refusals > 1; refusals-- {
		lines = lines[end(lines):]
	}
	return lines[:end(lines)]
}

// end is the index after the first line without calls.
func end(lines []scriptLine) int {
	for i, line := range lines {
		if len(line.Calls) == 0 {
			return i + 1
		}
	}
	return len(lines)
}

// reply substitutes the placeholders.
func (l scriptLine) reply(c *Conversation) (Reply, error) {
	fill := strings.NewReplacer("{directive}", c.Directive, "{title}", c.Title).Replace
	r := Reply{Text: fill(l.Text)}
	for i, call := range l.Calls {
		args, err := fillJSON(call.Args, fill)
		if err != nil {
			return Reply{}, err
		}
		r.Calls = append(r.Calls, Call{ID: fmt.Sprintf("call-%d-%d", c.Turns()+1, i+1), Name: call.Name, Args: args})
	}
	return r, nil
}

// fillJSON applies fill to every string value, not to names, and keeps numbers as written.
func fillJSON(raw json.RawMessage, fill func(string) string) (json.RawMessage, error) {
	if len(raw) == 0 {
		return json.RawMessage("{}"), nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err := diag.WriteJSON(&b, fillValue(v, fill)) // without HTML escapes, for the log
	return bytes.TrimSpace(b.Bytes()), err
}

func fillValue(v any, fill func(string) string) any {
	switch v := v.(type) {
	case string:
		return fill(v)
	case []any:
		for i := range v {
			v[i] = fillValue(v[i], fill)
		}
	case map[string]any:
		for k := range v {
			v[k] = fillValue(v[k], fill)
		}
	}
	return v
}
