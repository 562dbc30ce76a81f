package forge

import (
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
	w := Word{Until: time.Unix(0, 0).UTC(), Stopped: []Stopping{{Ref: "refs/heads/a\x1b[2J", Commit: strings.Repeat("c", 40), Why: "rewritten"}},
		Troubles: []Trouble{{"D-1", "no right", "give it"}, {"", "away", ""}}}
	want := "the forge is asked again at 1970-01-01T00:00:00Z|refs/heads/a\\x1b[2J stays behind the forge, which has it at cccccccccccc: rewritten|D-1: no right; give it|away"
	if got := strings.Join(w.Lines(), "|"); got != want {
		t.Errorf("%q", got)
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
