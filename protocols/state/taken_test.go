package state

import (
	"strings"
	"testing"
)

// line is a history of commits one after the other, oldest first.
type line [][2]string

func (l line) Contains(tip, commit string) (bool, error) {
	for _, m := range l {
		if m[0] == commit {
			return true, nil
		}
	}
	return false, nil
}

func (l line) Saying(tip, commit, text string) (said [][2]string, err error) {
	for _, m := range l {
		if strings.Contains(m[1], text) {
			said = append(said, m)
		}
	}
	return said, nil
}

func (l line) Tip(ref string) (string, error) {
	for _, m := range l {
		if ref == TakenPrefix+m[1] {
			return m[0], nil
		}
	}
	return "", nil
}

// TestTakenOnAForge: what the host saw a forge make of a commit is how it was taken.
func TestTakenOnAForge(t *testing.T) {
	c := strings.Repeat("c", 40)
	for said, want := range map[string]string{c: "a", strings.Repeat("d", 40): ""} {
		if by, err := Taken(line{{"a", said}}, "tip", c); by != want || err != nil {
			t.Errorf("%q: %q, %v", said, by, err)
		}
	}
}

// A commit is taken by a merge, or by a squash that says so in its trailers; words in
// a body or a subject say nothing.
func TestTaken(t *testing.T) {
	c := strings.Repeat("c", 40)
	for text, want := range map[string]string{
		"x\n\nWard-Taken: " + c + "\n":                             "a",
		"x\n\nbody\n\nWard-Directive: D-1\nWard-Taken: " + c:       "a",
		"x\n\nWard-Taken: " + c + "\n\nanother paragraph\n":        "",
		"Ward-Taken: " + c:                                         "",
		"x\n\nnot Ward-Taken: " + c:                                "",
		"x\n\nWard-Taken: " + c + "d":                              "",
		"x\n\nWard-Taken: " + strings.Repeat("d", 40):              "",
		"x\n\nWard-Taken: " + c[:39] + "\nWard-Taken: " + c + "\n": "a",
	} {
		if by, err := Taken(line{{"a", text}}, "a", c); by != want || err != nil {
			t.Errorf("%q: %q %v, want %q", text, by, err, want)
		}
	}
	if by, _ := Taken(line{{c, "x"}}, c, c); by != c {
		t.Errorf("a merged one: %q", by)
	}
	if by, _ := Taken(line{{c, "x"}}, "", c); by != "" {
		t.Errorf("a project without commits: %q", by)
	}
}
