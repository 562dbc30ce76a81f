package interaction

import (
	"fmt"
	"strings"
	"testing"

	"git-ward/protocols/loop"
)

func TestTranscript(t *testing.T) {
	var none *Transcript
	none.Begins("Scout")
	none.Told("x")
	none.Said("x")
	none.Ran("p#1", "x")
	if none.Text() != "" || none.Failed() != nil {
		t.Error("nil takes something")
	}
	w := &Transcript{Redact: func(s string) string { return strings.ReplaceAll(s, "geheim", "[secret]") }}
	w.Begins("Solver")
	w.Told("Plan.\nThe key is geheim.")
	w.Said("I look.\x1b[2J")
	w.Called("bash", `{"command":"env"}`)
	w.Answered("bash", `{"command":"env"}`, "KEY=geheim\nexit 1", true)
	w.Ran("p#1", "ok\n")
	const want = "\n== Solver ==\n\n* Plan.\n  The key is [secret].\n\n\nI look.\\x1b[2J\n\n> bash {\"command\":\"env\"}\n" +
		"< failed: KEY=[secret]\n  exit 1\n> p#1 \n< ok\n"
	if w.Text() != want {
		t.Errorf("%q", w.Text())
	}
	if got := fmt.Sprint(w.Failed()); got != `[bash {"command":"env"}: KEY=[secret]]` {
		t.Error(got)
	}
}

// A secret that a bound cuts through is redacted whole.
func TestTranscriptCutsNoSecret(t *testing.T) {
	w := &Transcript{Redact: func(s string) string { return strings.ReplaceAll(s, "geheim", "[secret]") }}
	w.Said(strings.Repeat("x", maxEvent-3) + "geheim" + strings.Repeat("y", 5*maxEvent))
	if text := w.Text(); strings.Contains(text, "geh") || !strings.Contains(text, "bytes in all]") {
		t.Errorf("%s", text[len(text)-60:])
	}
}

// TestTranscriptIsBounded: of a long one the beginning and the end are kept, and what is
// left out is said.
func TestTranscriptIsBounded(t *testing.T) {
	var w Transcript
	for i := range 20_000 {
		w.Called(fmt.Sprint("t", i), "")
	}
	w.Answered("t19999", "", strings.Repeat("x", 1<<20), false)
	text := w.Text()
	if len(text) > loop.MaxTranscript || !strings.HasPrefix(text, "> t0 \n> t1 \n") || !strings.Contains(text, " bytes left out]\n\n> t") || !strings.Contains(text, "xx... [1048576 bytes in all]") {
		t.Errorf("%d bytes: %.40s ... %s", len(text), text, text[len(text)-100:])
	}
	if loop.CutTranscript(text) != text {
		t.Error("the record cuts it again")
	}
	for range 2 * maxFailed {
		w.Answered("t", "", "no", true)
	}
	if len(w.Failed()) != maxFailed {
		t.Errorf("%d failed", len(w.Failed()))
	}
}
