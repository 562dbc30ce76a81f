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

// TestOnlyTheWatchers: the agent reads the journal, and whatever its mode was before, only
// the watcher writes there.
func TestOnlyTheWatchers(t *testing.T) {
	j := open(t)
	if err := os.WriteFile(j.Dir.BootLog(), []byte("old\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(j.Dir.BootLog(), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := j.Begin("main", a, ""); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(j.Dir.BootLog()); err != nil || info.Mode() != 0o644 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if err := j.Append(boot.Success, "main", a, ""); err != nil || j.Last("main", a).Event != boot.Success || j.Last("main", b).Event != "" || j.Last("agent/x", a).Event != "" {
		t.Error("the watcher's word", err)
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
	if err := os.Mkdir(j.Dir.BootLog()+".1", 0o700); err != nil { // an agent would keep it from that
		t.Fatal(err)
	}
	if err := j.Begin("main", a, "why"); err != nil {
		t.Fatal(err)
	}
	if got := text(t, j); got != "2026-11-22T09:00:00Z BOOTSTRAPPING main "+a+" why\n" {
		t.Errorf("%q", got)
	}
	if info, err := os.Stat(j.Dir.BootLog() + ".1"); err != nil || !info.Mode().IsRegular() {
		t.Error(info, err)
	}
}

// TestFailures: of one commit of a branch, since it started last.
func TestFailures(t *testing.T) {
	j := open(t)
	for n, e := range []boot.Entry{
		{Event: boot.Failure, Branch: "agent/x", Commit: a},
		{Event: boot.Failure, Branch: "agent/x", Commit: b},
		{Event: boot.Failure, Branch: "agent/y", Commit: a},
		{Event: boot.Bootstrapping, Branch: "agent/x", Commit: a},
		{Event: boot.Failure, Branch: "agent/x", Commit: a},
		{Event: boot.Success, Branch: "agent/x", Commit: b},
		{Event: boot.Success, Branch: "agent/x", Commit: a},
	} {
		if err := j.Append(e.Event, e.Branch, e.Commit, ""); err != nil {
			t.Fatal(err)
		}
		if got, want := j.Failures("agent/x", a), []int{1, 1, 1, 1, 2, 2, 0}[n]; got != want {
			t.Errorf("%d failures after line %d, want %d", got, n+1, want)
		}
	}
}
