package terminal

import (
	"strings"
	"testing"

	"git-ward/internal/live"
)

// TestEventText: what a worker calls is told as people say it.
func TestEventText(t *testing.T) {
	for name, c := range map[string]struct {
		event live.Event
		want  string
	}{
		"a command":      {live.Event{Kind: live.Called, Tool: "bash", Text: `{"command":"go test ./..."}`}, "bash: go test ./..."},
		"a file":         {live.Event{Kind: live.Called, Tool: "write_file", Text: `{"content":"a\nb","path":"x.sh"}`}, `write_file: x.sh; content: a\nb`},
		"numbers":        {live.Event{Kind: live.Called, Tool: "f", Text: `{"a":1,"b":[true]}`}, "f: a: 1; b: [true]"},
		"cut":            {live.Event{Kind: live.Called, Tool: "f", Text: `{"a":1,"b`}, `f: {"a":1,"b`},
		"a plan's step":  {live.Event{Kind: live.Called, Tool: "tool_exec", Text: "sleep 4"}, "tool_exec: sleep 4"},
		"a state":        {live.Event{Kind: live.State, Text: "loop: COLLECT_ARTIFACTS\nof the API"}, "loop: collect artifacts\nof the API"},
		"tokens":         {live.Event{Kind: live.Tokens, Input: 1234567, Output: 89}, "1,234,567 tokens in, 89 out"},
		"nothing at all": {live.Event{Kind: live.Beat}, ""},
	} {
		if got := eventText(c.event); got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}

// FuzzScreen: whatever an agent writes, a screen is as large as it may be, and holds nothing
// that a terminal obeys.
func FuzzScreen(f *testing.F) {
	f.Add("\x1b[2J\x1b]0;x\x07", "\u202e\u2066\u200b\r\n", 80, 24)
	f.Add(strings.Repeat("語", 300), "e\u0301\U0001f468\u200d\U0001f469\u200d\U0001f467", 10, 3)
	f.Add("\xff\xfe", strings.Repeat("x", 5000), 1, 1)
	f.Fuzz(func(t *testing.T, text, other string, w, h int) {
		w, h = 1+(w&0xff), 1+(h&0x3f)
		s := open()
		s.Live = append(s.Live, live.Event{Unit: other, Kind: live.Said, Role: text, Tool: other, Text: text}, live.Event{Kind: live.Called, Text: other})
		s.Trouble, s.Over.Repository = other, text
		s.Over.Waiting[0].Command, s.Over.Waiting[0].What = text, other
		s.One.Waiting, s.One.Words = s.Over.Waiting, other
		for _, st := range []state{{}, {facts: true, back: 3}, {help: true}, {chosen: "D-2"}} {
			for _, name := range []string{"D-3", ""} {
				if s.Name = name; name == "" {
					s.One = nil
				}
				rows := screen(s, st, w, h, drawn)
				if len(rows) > h {
					t.Fatalf("%d rows of %d", len(rows), h)
				}
				for _, r := range rows {
					line := r.String()
					if width(line) > w || strings.ContainsAny(line, "\x1b\r\n\t\u202e\u2066") {
						t.Fatalf("%d columns of %d: %q", width(line), w, line)
					}
				}
			}
			s = withOne(s)
		}
	})
}

// withOne has the directive open again.
func withOne(s Scene) Scene {
	fresh := open()
	s.One = fresh.One
	return s
}
