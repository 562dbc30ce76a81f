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
