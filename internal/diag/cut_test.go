package diag

import "testing"

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text string
		size int
		want string
	}{
		{"", 0, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc..."},
		{"aéb", 2, "a..."}, // é has two bytes, of which one would fit
		{"aéb", 3, "aé..."},
		{"\xff", 1, "\xff"}, // what fits stays as it is
	} {
		if got := Cut(c.text, c.size); got != c.want {
			t.Errorf("%q in %d: %q, not %q", c.text, c.size, got, c.want)
		}
	}
}

// TestCutWord: no piece of a word is left where a text is cut, and no half of a character.
func TestCutWord(t *testing.T) {
	for _, c := range []struct {
		text, want string
		size       int
	}{
		{"says ghp_abcdef", "says ghp_abcdef", 15},
		{"says ghp_abcdef", "says ...", 12},
		{`{"key":"ghp_abcdef"}`, `{"key":"...`, 12},
		{"ghp_abcdef", "...", 4},
		{"aé bé", "aé ...", 6},
		{"one two", "one ...", 4},
	} {
		if got := CutWord(c.text, c.size); got != c.want {
			t.Errorf("%q at %d: %q, want %q", c.text, c.size, got, c.want)
		}
	}
	for text, want := range map[string]string{"": "", "cdef and": " and", "cdef": "", " cdef": " cdef", "\xa9cd\nx": "\nx", `cdef", "x"`: `", "x"`} {
		if got := EndWord(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
