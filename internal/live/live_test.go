package live

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

var at = time.Date(2026, 11, 22, 9, 0, 0, 123_000_000, time.UTC)

// TestLine: an event is one short line whatever its text is, and reads back as what is left
// of it.
func TestLine(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"words":         {"I look.\nThen I write.", "I look.\nThen I write."},
		"an escape":     {"\x1b[2Jgone", `\x1b[2Jgone`},
		"no UTF-8":      {"a\xffb", "ab"},
		"long":          {strings.Repeat("x", 5000), strings.Repeat("x", MaxText-3) + "..."},
		"only quotes":   {strings.Repeat(`"`, 5000), ""},
		"wide":          {strings.Repeat("語", 2000), ""},
		"nothing":       {"", ""},
		"right to left": {"a\u202eb", `a\u202eb`},
	} {
		line := Event{Time: at, Unit: "D-1.1", Iteration: 2, Role: "Solver", Kind: Said, Text: c.text}.Line()
		if len(Prefix)+len(line) > MaxLine || bytes.Count(line, []byte("\n")) != 1 || line[len(line)-1] != '\n' {
			t.Errorf("%s: a line of %d bytes: %.60q", name, len(line), line)
		}
		e, err := FromAgent(line)
		if err != nil || e.Time != at || e.Unit != "D-1.1" || e.Directive() != "D-1" || e.Iteration != 2 || e.Role != "Solver" || e.Kind != Said {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
		if c.want != "" && e.Text != c.want || len(c.text) > MaxText && len(e.Text) < 1000 {
			t.Errorf("%s: %.80q", name, e.Text)
		}
	}
}

// TestParse: what no writer of events wrote is none, and an agent tells nothing of the
// host's.
func TestParse(t *testing.T) {
	const good = `{"v":1,"time":"2026-11-22T09:00:00Z","unit":"D-1.1","kind":"said"}`
	if _, err := FromAgent([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, line := range map[string]string{
		"nothing":          ``,
		"half":             good[:40],
		"two":              good + good,
		"a list":           `[]`,
		"another version":  strings.Replace(good, `"v":1`, `"v":2`, 1),
		"another field":    strings.Replace(good, `"v":1`, `"v":1,"x":1`, 1),
		"a field twice":    strings.Replace(good, `"v":1`, `"v":1,"kind":"said"`, 1),
		"no kind":          strings.Replace(good, `said`, `sung`, 1),
		"a path":           strings.Replace(good, `D-1.1`, `../x`, 1),
		"no unit":          strings.Replace(good, `D-1.1`, ``, 1),
		"a negative count": strings.Replace(good, `"v":1`, `"v":1,"input":-1`, 1),
		"a huge count":     strings.Replace(good, `"v":1`, `"v":1,"input":9007199254740993`, 1),
		"no time":          strings.Replace(good, `2026-11-22T09:00:00Z`, `soon`, 1),
		"the host's role":  strings.Replace(good, `"v":1`, `"v":1,"role":"host"`, 1),
		"the role, apart":  strings.Replace(good, `"v":1`, `"v":1,"role":" host\u00a0"`, 1),
		"the role, large":  strings.Replace(good, `"v":1`, `"v":1,"role":"Host"`, 1),
		"money":            strings.Replace(good, `"v":1`, `"v":1,"money":"1.00"`, 1),
		"long":             strings.Replace(good, `"v":1`, `"v":1,"text":"`+strings.Repeat("x", MaxText+1)+`"`, 1),
	} {
		if e, err := FromAgent([]byte(line)); err == nil {
			t.Errorf("%s: %+v", name, e)
		}
	}
	host := Event{Time: at, Unit: "D-1", Role: Host, Kind: Gateway, Money: "0.50"}.Line()
	if e, err := Parse(host); err != nil || e.Money != "0.50" {
		t.Errorf("the host's own: %+v, %v", e, err)
	}
	if e, err := FromAgent(host); err == nil {
		t.Errorf("an agent tells for the host: %+v", e)
	}
}

// FuzzParse: whatever comes, what is taken for an event has clean text within its bounds,
// and is one again when it is written.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"v":1,"time":"2026-11-22T09:00:00Z","unit":"D-1.1","kind":"said","text":"\u001b[2J"}`))
	f.Add(Event{Time: at, Unit: "D-1", Role: Host, Kind: Verdict, Text: "run 1"}.Line())
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := Parse(line)
		if err != nil {
			return
		}
		if strings.ContainsAny(e.Text+e.Role+e.Tool, "\x1b\x00\u202e") || e.Directive() == "" {
			t.Errorf("%q", line)
		}
		again, err := Parse(e.Line())
		if err != nil || again.Unit != e.Unit || again.Kind != e.Kind {
			t.Errorf("%q: %+v, %v", line, again, err)
		}
	})
}
