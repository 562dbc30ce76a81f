package forge

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestWord: each thing that waits is a line, with whose it is and what mends it, and a name
// of the forge's deceives nobody.
func TestWord(t *testing.T) {
	if lines := (Word{}).Lines(); len(lines) != 0 {
		t.Errorf("%q", lines)
	}
	w := Word{Until: time.Unix(0, 0).UTC(), Stopped: []Stopping{{Ref: "refs/heads/a\x1b[2J", Commit: strings.Repeat("c", 40), Why: "rewritten"}}, Beyond: []string{"x", "y"},
		Troubles: []Trouble{{"D-1", "no right", "give it"}, {"", "no answer", ""}, {"", "and more", ""}}, Proposed: []Offer{{7, "greet\x1b[2J", "abc"}}}
	want := []string{"issue 7 is proposed as a directive, and a comment there starts it (greet\\x1b[2J): /ward approve abc",
		"D-1 does not go on at the forge, and is tried again at each look: no right; give it",
		"the forge is asked again by itself at 1970-01-01T00:00:00Z: no answer",
		"the rest does not go on at the forge, and is tried again at each look: and more",
		"refs/heads/a\\x1b[2J stays behind the forge: at cccccccccccc: rewritten", "a number of refs more (2) stays behind the forge"}
	if got := w.Lines(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	keys := map[string]bool{}
	for _, one := range w.Waits() {
		if again := one.Cause.Waiting("issue 7", "", ""); again.For != one.For || keys[one.Key] || one.Command == "" {
			t.Errorf("it is not of the table, or has no key of its own: %+v", one)
		}
		keys[one.Key] = true
	}
	if (Word{Proposed: w.Proposed}).Stuck() || !(Word{Beyond: w.Beyond}).Stuck() || !(Word{Until: w.Until}).Stuck() {
		t.Error("what a person is to approve is no fault, and all else is")
	}
}

// TestAdmits: of what stays behind a PM lets in exactly the commit that was named, on that ref.
func TestAdmits(t *testing.T) {
	word := []byte(`{"stopped":[{"ref":"refs/heads/main","commit":"aaaa","why":"it was rewritten"}]}`)
	for _, c := range []struct {
		word        []byte
		ref, commit string
		want        bool
	}{
		{word, "refs/heads/main", "aaaa", true},
		{word, "refs/heads/main", "bbbb", false},
		{word, "refs/heads/other", "aaaa", false},
		{word[:20], "refs/heads/main", "aaaa", false},
		{[]byte(`{}`), "refs/heads/main", "aaaa", false},
	} {
		if got := Admits(c.word, c.ref, c.commit); got != c.want {
			t.Errorf("%s at %s by %s: %v", c.ref, c.commit, c.word, got)
		}
	}
}
