package model

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"git-ward/agent/tool"
)

func parse(t *testing.T, lines ...string) *Script {
	t.Helper()
	s, err := ParseScript([]byte(strings.Join(lines, "\n")), "s")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// play runs a script to its end, refusals times refused, and returns the texts.
func play(t *testing.T, s *Script, directive string, refusals int) []string {
	t.Helper()
	c := &Conversation{Directive: directive, Title: "a {directive} title", Messages: []Message{{Role: User, Text: "Continue."}}}
	var texts []string
	for turns := 0; turns < 20; turns++ {
		r, err := s.Turn(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := s.Turn(t.Context(), c)
		if !reflect.DeepEqual(r, again) {
			t.Errorf("the same conversation, two answers: %+v, %+v", r, again)
		}
		texts = append(texts, r.Text)
		c.Messages = append(c.Messages, Message{Role: Assistant, Text: r.Text, Calls: r.Calls})
		switch {
		case len(r.Calls) > 0:
			c.Messages = append(c.Messages, Message{Role: User, Results: []Result{{ID: r.Calls[0].ID, Result: tool.Result{Text: "ok"}}}})
		case refusals > 0:
			refusals--
			c.Messages = append(c.Messages, Message{Role: User, Refusal: true, Text: "no"})
		default:
			return texts
		}
	}
	t.Fatal("the script does not end")
	return nil
}

func TestOrder(t *testing.T) {
	s := parse(t, "# a comment", "",
		`{"text":"1 all","calls":[{"name":"bash"}]}`,
		`{"directive":"D-2","text":"2 of {directive}","calls":[{"name":"bash"}]}`,
		`{"on":"refused","text":"r1","calls":[{"name":"bash"}]}`,
		`{"text":"3 end"}`,
		`{"text":"never"}`,
		`{"on":"refused","directive":"D-1","text":"r2"}`,
		`{"on":"refused","text":"r3"}`)
	for _, c := range []struct {
		directive string
		refusals  int
		want      string
	}{
		{"D-1", 0, "1 all|3 end"},
		{"D-2", 0, "1 all|2 of D-2|3 end"},
		{"D-1", 1, "1 all|3 end|r1|r2"},
		{"D-1", 3, "1 all|3 end|r1|r2|r3|"},
		{"D-2", 1, "1 all|2 of D-2|3 end|r1|r3"},
	} {
		if got := strings.Join(play(t, s, c.directive, c.refusals), "|"); got != c.want {
			t.Errorf("%s, %d refusals: %s, want %s", c.directive, c.refusals, got, c.want)
		}
	}
	if got := play(t, parse(t), "D-1", 2); strings.Join(got, "|") != "||" {
		t.Errorf("an empty script: %q", got)
	}
}

// TestPlaceholders: in strings at any depth, once, and nothing else is changed.
func TestPlaceholders(t *testing.T) {
	s := parse(t, `{"text":"{directive}: {title} {other}","calls":[{"name":"x","args":{"{title}":["{directive}",{"a":"{title}"}],"n":12345678901234567890,"h":"<&>"}},{"name":"y"}]}`)
	r, err := s.Turn(t.Context(), &Conversation{Directive: "D-9", Title: `say "{directive}"`})
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
