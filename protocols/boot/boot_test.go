package boot

import (
	"strings"
	"testing"
	"time"
)

const id = "0123456789abcdef0123456789abcdef01234567"

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestEntry(t *testing.T) {
	for _, c := range []struct {
		entry Entry
		want  string
	}{
		{Entry{noon, Bootstrapping, "agent/D-1", id, ""}, "2026-11-21T12:00:00Z BOOTSTRAPPING agent/D-1 " + id},
		{Entry{noon, Failure, "main", Unknown, "exit 1\nand  more\x1b[m"}, "2026-11-21T12:00:00Z FAILURE main - exit 1; and more\\x1b[m"},
		{Entry{noon, Failure, "a b", id, "bad target"}, "2026-11-21T12:00:00Z FAILURE - " + id + " bad target"},
	} {
		if got := c.entry.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		if back, err := Parse(c.want); err != nil || back.String() != c.want {
			t.Errorf("%q is not read back: %v", c.want, err)
		}
	}
	long := Entry{noon, Failure, "main", id, strings.Repeat("é", MaxLine)}.String()
	if len(long) > MaxLine || !strings.HasSuffix(long, "é...") {
		t.Errorf("%d bytes: %q", len(long), long)
	}
}

func TestNoEntries(t *testing.T) {
	for line, want := range map[string]string{
		"":                                   "are no entry",
		"soon SUCCESS main " + id:            "no time",
		"2026-11-21T12:00:00Z OK main " + id: "no event",
		"2026-11-21T12:00:00+01:00 SUCCESS main " + id:  "no time",
		"2026-11-21T12:00:00Z SUCCESS -x " + id:         "begins with a dash",
		"2026-11-21T12:00:00Z SUCCESS main 0123":        "no commit",
		"2026-11-21T12:00:00Z SUCCESS main " + id + " ": "not how an entry is written",
		strings.Repeat("x", MaxLine+1):                  "a line of",
	} {
		if _, err := Parse(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
}

func TestFailures(t *testing.T) {
	line := func(e Event, branch string) string { return Entry{noon, e, branch, id, ""}.String() + "\n" }
	log := line(Failure, "agent/a") + line(Success, "agent/a") + line(Failure, "agent/a") + "garbage\n" + line(Failure, "main") + line(Failure, "agent/a")
	if n := Failures([]byte(log), "agent/a"); n != 2 {
		t.Errorf("%d failures, want 2", n)
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"": "is empty", "--upload-pack=x": "begins with a dash", "a\nb": "plain name", "main~1": "plain name", "main@{1}": "plain name",
		"a..b": "plain name", "a b": "plain name", "a\x00": "plain name", "a\u202e": "plain name", strings.Repeat("x", 256): "longer than",
		"logs/x": "own folder logs", ".signal": "not the name of a branch", "a//b": "not the name of a branch",
		"a/.git": "not the name of a branch", "x.lock": "not the name of a branch", "../x": "plain name",
		"agent/D-1": "", "main": "", "logbook": "", "feature/größe": "",
	} {
		if got := CheckBranch(name); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Entry{noon, Success, "agent/D-1", id, "a reason"}.String())
	f.Add("2026-11-21T12:00:00Z FAILURE - - x")
	f.Fuzz(func(t *testing.T, line string) {
		e, err := Parse(line)
		if err == nil && e.String() != line {
			t.Errorf("%q becomes %q", line, e.String())
		}
		e.Reason = line // of any text an entry makes one line that is read back
		e.Time, e.Event, e.Branch, e.Commit = noon, Failure, "main", id
		if _, err := Parse(e.String()); err != nil {
			t.Errorf("%q: %v", e.String(), err)
		}
	})
}

func FuzzSignal(f *testing.F) {
	f.Add([]byte("agent/D-1\n"))
	f.Add([]byte("\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		name, err := ParseSignal(data)
		if err == nil && (strings.ContainsAny(name, "\n \x00~^") || strings.HasPrefix(name, "-") || len(name) > 255) {
			t.Errorf("%q passes", name)
		}
	})
}
