package model

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"git-ward/agent/tool"
	"git-ward/protocols/plan"
)

func parse(t *testing.T, lines ...string) *Script {
	t.Helper()
	s, err := ParseScript([]byte(strings.Join(lines, "\n")), "s")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// play runs a script to its end as the agent does, refusals times refused. It
// returns what each plan says and does, and the last words after it.
func play(t *testing.T, s *Script, directive string, refusals int) []string {
	t.Helper()
	c := &Conversation{Directive: directive, Title: "a {directive} title", Plan: "plan.txt", Messages: []Message{{Role: User, Text: "Continue."}}}
	turn := func() Reply {
		r, err := s.Turn(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := s.Turn(t.Context(), c); !reflect.DeepEqual(r, again) {
			t.Errorf("the same conversation, two answers: %+v, %+v", r, again)
		}
		c.Messages = append(c.Messages, Message{Role: Assistant, Text: r.Text, Calls: r.Calls})
		if len(r.Calls) > 0 {
			c.Messages = append(c.Messages, Message{Role: User, Results: []Result{{ID: r.Calls[0].ID, Result: tool.Result{Text: "ok"}}}})
		}
		return r
	}
	var said []string
	for ; refusals >= 0; refusals-- {
		for i := 0; ; i++ {
			r := turn()
			if len(r.Calls) == 0 {
				break
			}
			if i == 20 {
				t.Fatal("the script does not end")
			}
			said = append(said, planSays(t, r))
		}
		c.Messages = append(c.Messages, Message{Role: User, On: Done, Text: "done"})
		r := turn()
		for len(r.Calls) > 0 {
			said = append(said, r.Calls[0].Name+"!")
			r = turn()
		}
		said = append(said, r.Text)
		c.Messages = append(c.Messages, Message{Role: User, On: Refused, Text: "no"})
	}
	return said
}

// planSays is what a plan that the script wrote says and does, without the steps
// that every plan has.
func planSays(t *testing.T, r Reply) string {
	var args struct{ Path, Content string }
	if err := json.Unmarshal(r.Calls[0].Args, &args); err != nil || r.Calls[0].Name != "write_file" || args.Path != "plan.txt" {
		return r.Calls[0].Name + "?"
	}
	p, found := plan.Parse([]byte(args.Content), "plan.txt")
	if len(found) > 0 {
		t.Errorf("%s\n%v", args.Content, found)
	}
	var said []string
	for _, s := range p.Steps[2 : len(p.Steps)-2] {
		said = append(said, strings.TrimSpace(s.Args+" "+strings.TrimSpace(s.Block)))
	}
	return "[" + strings.Join(said, ", ") + "]"
}

func TestOrder(t *testing.T) {
	s := parse(t, "# a comment", "",
		`{"text":"1 all","calls":[{"name":"bash","args":{"command":"x"}}]}`,
		`{"directive":"D-2","text":"2 of {directive}","calls":[{"name":"write_file","args":{"path":"a/{directive}","content":"---"}}]}`,
		`{"on":"refused","text":"r1","calls":[{"name":"bash","args":{"command":"y"}}]}`,
		`{"text":"3 end"}`,
		`{"text":"never"}`,
		`{"on":"refused","directive":"D-1","text":"r2"}`,
		`{"on":"refused","text":"","calls":[{"name":"read_file","args":{"path":"z"}}]}`)
	for _, c := range []struct {
		directive string
		refusals  int
		want      string
	}{
		{"D-1", 0, "[1 all, x]|3 end"},
		{"D-2", 0, "[1 all, x, 2 of D-2, a/D-2 ---]|3 end"},
		{"D-1", 1, "[1 all, x]|3 end|[r1, y]|r2"},
		{"D-1", 3, "[1 all, x]|3 end|[r1, y]|r2|[z]||"},
		{"D-2", 1, "[1 all, x, 2 of D-2, a/D-2 ---]|3 end|[r1, y, z]|"},
	} {
		if got := strings.Join(play(t, s, c.directive, c.refusals), "|"); got != c.want {
			t.Errorf("%s, %d refusals: %s, want %s", c.directive, c.refusals, got, c.want)
		}
	}
	if got := play(t, parse(t), "D-1", 2); strings.Join(got, "|") != "[]|||" {
		t.Errorf("an empty script: %q", got)
	}
	// What is no step of a plan is played when the plan is done; a script that plans
	// by itself is not made a plan of.
	s = parse(t, `{"calls":[{"name":"bash","args":{"command":"x"}}]}`, `{"calls":[{"name":"bootstrap","args":{"branch":"b"}}]}`, `{"text":"bye"}`)
	if got := strings.Join(play(t, s, "D-1", 0), "|"); got != "[x]|bootstrap!|bye" {
		t.Error(got)
	}
	s = parse(t, `{"on":"plan","calls":[{"name":"bash","args":{"command":"ls"}}]}`, `{"on":"plan","text":"planned"}`, `{"text":"bye"}`)
	if got := strings.Join(play(t, s, "D-1", 0), "|"); got != "bash?|bye" {
		t.Error(got)
	}
}

// TestPlaceholders: in strings at any depth, once, and nothing else is changed.
func TestPlaceholders(t *testing.T) {
	s := parse(t, `{"text":"{directive}: {title} {other}","calls":[{"name":"x","args":{"{title}":["{directive}",{"a":"{title}"}],"n":12345678901234567890,"h":"<&>"}},{"name":"y"}]}`)
	r, err := s.lines[0].reply(&Conversation{Directive: "D-9", Title: `say "{directive}"`})
	if err != nil {
		t.Fatal(err)
	}
	want := Reply{Text: `D-9: say "{directive}" {other}`, Calls: []Call{
		{ID: "call-1-1", Name: "x", Args: json.RawMessage(`{"h":"<&>","n":12345678901234567890,"{title}":["D-9",{"a":"say \"{directive}\""}]}`)},
		{ID: "call-1-2", Name: "y", Args: json.RawMessage("{}")},
	}}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("%+v\n%s", r, r.Calls[0].Args)
	}
}

func TestFaults(t *testing.T) {
	for line, want := range map[string]string{
		`{"text":1}`:                        "s:3: json: cannot unmarshal number",
		`{"txt":"x"}`:                       `s:3: json: unknown field "txt"`,
		`{"text":"x"`:                       "s:3: the JSON object does not end on this line",
		`{"text":"x"} {}`:                   "s:3: a line holds one JSON object",
		`{"text":"x"}}`:                     "s:3: a line holds one JSON object",
		`{"on":"fire"}`:                     `s:3: "fire" is not something to be played on`,
		`{"directive":"D1"}`:                `s:3: "D1" is not the name of a directive`,
		`{"calls":[{"args":{}}]}`:           "s:3: call 1 has no name",
		`{"calls":[{"name":"x","arg":{}}]}`: `s:3: json: unknown field "arg"`,
	} {
		_, err := ParseScript([]byte("# first\n\n"+line+"\n{}"), "s")
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

func TestBuiltin(t *testing.T) {
	s, err := ParseScript(BuiltinScript, BuiltinName)
	if err != nil {
		t.Fatal(err)
	}
	texts := play(t, s, "D-1", 0)
	if len(texts) != 2 || !strings.Contains(texts[1], "work/D-1.md") {
		t.Errorf("%q", texts)
	}
}

func FuzzParseScript(f *testing.F) {
	f.Add(BuiltinScript)
	f.Add([]byte(`{"on":"refused","calls":[{"name":"x","args":[1,null,"{title}"]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseScript(data, "s")
		if err != nil {
			return
		}
		for _, line := range s.lines {
			if _, err := line.reply(&Conversation{Directive: "D-1", Title: "t"}); err != nil {
				t.Errorf("a script that parses does not play: %v", err)
			}
		}
	})
}
