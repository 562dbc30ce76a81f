package journal_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"git-ward/bootstrap/journal"
	"git-ward/bootstrap/statedir"
	"git-ward/protocols/boot"
)

const (
	a = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	b = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

func open(t *testing.T) *journal.Journal {
	t.Helper()
	d := &statedir.Dir{Path: t.TempDir()}
	if err := d.Prepare(); err != nil {
		t.Fatal(err)
	}
	return &journal.Journal{Dir: d, Now: func() time.Time { return time.Date(2026, 11, 22, 9, 0, 0, 999, time.UTC) }}
}

// say appends to the file as the agent does.
func say(t *testing.T, j *journal.Journal, text string) {
	t.Helper()
	f, err := os.OpenFile(j.Dir.BootLog(), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func text(t *testing.T, j *journal.Journal) string {
	t.Helper()
	data, err := os.ReadFile(j.Dir.BootLog())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestAppend writes whole lines, behind whatever the agent left.
func TestAppend(t *testing.T) {
	j := open(t)
	for _, reason := range []string{"", "exit 1"} {
		if err := j.Append(boot.Failure, "main", a, reason); err != nil {
			t.Fatal(err)
		}
		say(t, j, "half a line")
	}
	want := "2026-11-22T09:00:00Z FAILURE main " + a + "\nhalf a line\n2026-11-22T09:00:00Z FAILURE main " + a + " exit 1\nhalf a line"
	if got := text(t, j); got != want {
		t.Errorf("%q", got)
	}
}

// TestSucceeded: the agent's word counts for its own start, from behind its
// beginning.
func TestSucceeded(t *testing.T) {
	const now = "2026-11-22T09:00:01Z SUCCESS "
	for _, c := range []struct {
		said string
		want bool
	}{
		{"", false},
		{now + "main " + a + "\n", true},
		{now + "main " + a, false}, // not whole yet
		{now + "main " + b + "\n", false},
		{now + "agent/x " + a + "\n", false},
		{"noise\n" + strings.Repeat("x", 100<<10) + "\n" + now + "main " + a + "\n", true},
	} {
		j := open(t)
		say(t, j, now+"main "+a+"\n") // an earlier start's
		start, err := j.Begin("main", a, "")
		if err != nil {
			t.Fatal(err)
		}
		if start.Succeeded() {
			t.Error("before it said so")
		}
		say(t, j, c.said)
		if got := start.Succeeded(); got != c.want || start.Succeeded() != got {
			t.Errorf("%.80q: %v", c.said, got)
		}
	}
}

// TestCut: an agent that cuts the file still says its word.
func TestCut(t *testing.T) {
	j := open(t)
	say(t, j, strings.Repeat("noise\n", 100))
	start, err := j.Begin("main", a, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(j.Dir.BootLog(), 0); err != nil {
		t.Fatal(err)
	}
	if start.Succeeded() {
		t.Error("it said nothing")
	}
	say(t, j, "2026-11-22T09:00:01Z SUCCESS main "+a+"\n")
	if !start.Succeeded() || !j.Succeeded("main", a) || j.Succeeded("main", b) {
		t.Error("it said so")
	}
}

// TestUnfinished is what a watcher that starts finds of the one before it.
func TestUnfinished(t *testing.T) {
	for _, c := range []struct {
		events string // first letters of events, each of commit a, in capitals of commit b
		open   bool
	}{
		{"", false}, {"b", true}, {"bs", false}, {"bf", false}, {"bsb", true}, {"bF", true}, {"bBs", true}, {"bBS", false},
	} {
		j := open(t)
		for _, e := range c.events {
			commit := a
			if strings.ToUpper(string(e)) == string(e) {
				commit = b
			}
			event := map[string]boot.Event{"b": boot.Bootstrapping, "s": boot.Success, "f": boot.Failure}[strings.ToLower(string(e))]
			if err := j.Append(event, "main", commit, ""); err != nil {
				t.Fatal(err)
			}
		}
		if last, open := j.Unfinished(); open != c.open || c.events != "" && last.Event != boot.Bootstrapping {
			t.Errorf("%s: %v %v", c.events, last, open)
		}
	}
}

// TestRotate: a journal that is large starts anew, and one predecessor stays.
func TestRotate(t *testing.T) {
	j := open(t)
	say(t, j, strings.Repeat("noise\n", 200_000))
	if _, err := j.Begin("main", a, "why"); err != nil {
		t.Fatal(err)
	}
	if got := text(t, j); got != "2026-11-22T09:00:00Z BOOTSTRAPPING main "+a+" why\n" {
		t.Errorf("%q", got)
	}
	if _, err := os.Stat(j.Dir.BootLog() + ".1"); err != nil {
		t.Error(err)
	}
}
