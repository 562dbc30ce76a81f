package interaction

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"git-ward/agent/model"
	"git-ward/internal/live"
	"git-ward/internal/runstate"
	"git-ward/protocols/uow"
)

// heard is what was told, an event a line.
func heard(t *testing.T, out string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(out) {
		rest, ok := strings.CutPrefix(line, live.Prefix)
		e, err := live.FromAgent([]byte(rest))
		if !ok || err != nil {
			t.Errorf("%q: %v", line, err)
		}
		fmt.Fprintf(&b, "%s %d %s %s %s %s %d\n", e.Unit, e.Iteration, e.Role, e.Kind, e.Tool, e.Text, e.Output)
	}
	return b.String()
}

// TestLive: what a transcript takes is told at once, of the unit that is worked on, and no
// secret with it.
func TestLive(t *testing.T) {
	var none *Live
	none.At("D-1.1", 1)
	none.State("loop", "INIT", "")
	none.Close()
	var out bytes.Buffer
	l := NewLive(&out, func(s string) string { return strings.ReplaceAll(s, "geheim", "[secret]") })
	w := &Transcript{Live: l}
	w.Said("nobody works yet")
	l.At("D-1.1", 2)
	w.Begins("Solver")
	w.Said("The key is geheim.")
	w.Called("bash", "make")
	w.Answered("bash", "make", "no rule", true)
	w.Ran("p#1", "ok")
	w.Used(model.Usage{Input: 10, Output: 2})
	w.Used(model.Usage{Output: 3})
	l.State("loop", "CHECK", "why")
	l.Close()
	w.Said("too late")
	const want = "D-1.1 2 Solver said  The key is [secret]. 0\nD-1.1 2 Solver called bash make 0\nD-1.1 2 Solver failed bash no rule 0\n" +
		"D-1.1 2 Solver step p#1 ok 0\nD-1.1 2 Solver tokens   2\nD-1.1 2 Solver tokens   5\nD-1.1 2 Solver state loop CHECK\nwhy 0\n"
	if got := heard(t, out.String()); got != want {
		t.Errorf("%s", got)
	}
}

// TestLiveNeverWaits: nobody reads, and who works goes on.
func TestLiveNeverWaits(t *testing.T) { synctest.Test(t, liveNeverWaits) }

func liveNeverWaits(t *testing.T) {
	read, write := io.Pipe()
	defer read.Close()
	l := NewLive(write, nil)
	l.At("D-1.1", 1)
	for range 100_000 {
		l.Said("a word")
	}
	l.Close()
}

// TestSpeech: words are told whole where that can be, in time, and a secret never by halves.
func TestSpeech(t *testing.T) { synctest.Test(t, speech) }

func speech(t *testing.T) {
	const key = "AKIAZ7QX3KJ2MLP4WTRV"
	var mu sync.Mutex
	var pieces []string
	all := func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(pieces, "|")
	}
	s := NewSpeech(func(text string) {
		mu.Lock()
		defer mu.Unlock()
		pieces = append(pieces, text)
	}, func(text string) string { return strings.ReplaceAll(text, key, "[key]") })
	s.Write([]byte("working"))
	time.Sleep(5 * s.delay) // a timer of its own tells it
	if all() != "working" {
		t.Fatalf("%q", all())
	}
	s.Write([]byte(" on\nthe key is " + key[:17]))
	time.Sleep(5 * s.delay) // a pause in the middle of it
	s.Write([]byte(key[17:] + " and"))
	s.Write([]byte(" a -----BEGIN KEY-----\nabc\n"))
	time.Sleep(5 * s.delay) // likewise
	s.Write([]byte("def\n-----END KEY-----\nlast"))
	s.Close()
	if got := all(); strings.Contains(strings.ReplaceAll(got, "|", ""), key) || !strings.Contains(got, "[key]") || !strings.HasSuffix(got, "last") ||
		strings.Contains(got, "abc\n|") {
		t.Errorf("%q", got)
	}
}

// TestSpeechWithoutSpaces: each piece of a word without an end is read with what it needs of
// the ones before it, and not with all of them: a program may print a gigabyte of one line.
func TestSpeechWithoutSpaces(t *testing.T) {
	read, told := 0, 0
	s := NewSpeech(func(text string) { told += len(text) }, func(text string) string { read += len(text); return text })
	const size = 4 << 20
	for range size / maxHeld {
		s.Write(bytes.Repeat([]byte("x"), maxHeld))
	}
	s.Close()
	if told != size || read > 2*size {
		t.Errorf("%d bytes of %d are told, by reading %d", told, size, read)
	}
}

// TestLostWords: what a killed run was heard to say of the iteration in progress is its
// transcript; what the record has already, or belongs elsewhere, is not.
func TestLostWords(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, runstate.LivePath("D-1"))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	var file []byte
	for _, e := range []live.Event{
		{Time: at.Add(-time.Second), Unit: "D-1.1", Iteration: 2, Kind: live.Said, Text: "on the record"},
		{Time: at.Add(time.Second), Unit: "D-1.1", Iteration: 2, Kind: live.Said, Role: "Solver", Text: "I look."},
		{Time: at.Add(2 * time.Second), Unit: "D-1.1", Iteration: 2, Kind: live.Called, Role: "Solver", Tool: "bash", Text: "make"},
		{Time: at.Add(2 * time.Second), Unit: "D-1.1", Iteration: 1, Kind: live.Said, Text: "another iteration's"},
		{Time: at.Add(2 * time.Second), Unit: "D-1.2", Iteration: 2, Kind: live.Said, Text: "another unit's"},
		{Time: at.Add(2 * time.Second), Unit: "D-1.1", Iteration: 2, Role: live.Host, Kind: live.Verdict, Text: "the host's"},
	} {
		file = append(file, e.Line()...)
	}
	if err := os.WriteFile(path, file, 0o644); err != nil {
		t.Fatal(err)
	}
	begun := &uow.Record{ID: "D-1.1", Actor: uow.Agent, Iteration: 2, Time: "2026-11-22T09:00:00Z"}
	paused := &uow.Record{ID: "D-1.1", Actor: uow.PM, Iteration: 2, Time: "2026-11-22T09:00:10Z"}
	left := &uow.Record{ID: "D-1.1", Actor: uow.Agent, Iteration: 2, Time: "2026-11-22T09:00:10Z"}
	by := func(event uow.Event, reason uow.Reason) *uow.Record {
		return &uow.Record{ID: "D-1.1", Actor: uow.Agent, Iteration: 2, Time: "2026-11-22T09:00:10Z", Event: event, ReasonCode: reason}
	}
	const want = "\n== Solver ==\n\nI look.\n\n> bash make\n"
	for name, journal := range map[string][]*uow.Record{"killed": {begun}, "killed and paused": {begun, paused},
		"stopped by the file":   {begun, by(uow.Block, uow.Stopped), by(uow.Retry, uow.CauseGone)},
		"no sign of the PM":     {begun, by(uow.RequestApproval, uow.PulseIsDue)},
		"found after long":      {begun, by(uow.Block, uow.Stale), by(uow.Retry, uow.CauseGone)},
		"edited while killed":   {begun, by(uow.Fail, uow.DirectiveChanged)},
		"the directive is gone": {begun, by(uow.Fail, uow.DirectiveGone)},
	} {
		if got := LostWords(dir, journal); !strings.Contains(got, want) || strings.Contains(got, "another") || strings.Contains(got, "host's") || strings.Contains(got, "on the record") {
			t.Errorf("%s: %q", name, got)
		}
	}
	for name, journal := range map[string][]*uow.Record{"it was left since": {begun, left}, "no journal": nil,
		"it asks, and its words are kept": {begun, by(uow.Block, uow.TransientFailure), by(uow.Retry, "RETRY_POLICY")}} {
		if got := LostWords(dir, journal); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := LostWords("", []*uow.Record{begun}); got != "" {
		t.Errorf("nobody heard: %q", got)
	}
}
