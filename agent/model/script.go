package model

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"git-ward/internal/diag"
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
// every one. "on": "refused" keeps a line for the time after a refused push.
// "iteration": 2 keeps a line for that iteration of the bounded loop, counted from
// 0; without it a line is played in every one. "role": "Skeptic" keeps a line for
// the review of an iteration; without it a line is for who does the work. In every
// string `{directive}` and `{title}` stand for the directive at hand.
//
// The lines for a directive are played in order, one a turn. A line without
// calls ends the work, as does the end of the script. From the first refusal on
// the "refused" lines are played instead, in order: each refusal goes on where
// the last one ended.
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

// onRefused is the one value of "on".
const onRefused = "refused"

var directiveName = regexp.MustCompile(`^D-[1-9][0-9]{0,8}$`)

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
	if line.On != "" && line.On != onRefused {
		return line, fmt.Errorf("%q is not something to be played on; there is only %q", line.On, onRefused)
	}
	if line.Directive != "" && !directiveName.MatchString(line.Directive) {
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
	on, position := place(c)
	for _, line := range s.lines {
		if line.On != on || (line.Directive != "" && line.Directive != c.Directive) ||
			line.Role != c.Role || (line.Iteration != nil && *line.Iteration != c.Iteration) {
			continue
		}
		if position == 0 {
			return line.reply(c)
		}
		position--
	}
	return Reply{}, nil
}

// place is which lines are being played, and how many of them were.
func place(c *Conversation) (on string, position int) {
	for _, m := range c.Messages {
		switch {
		case m.Refusal && on == "":
			on, position = onRefused, 0
		case m.Role == Assistant && !m.Briefing:
			position++
		}
	}
	return on, position
}

// reply fills the placeholders in.
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

// fillJSON applies fill to every string value, not to names, and leaves numbers
// as they are written.
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
