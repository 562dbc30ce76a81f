package manual

import (
	"strings"
	"testing"
)

// TestWrap: further lines are indented, what cannot be divided has a line of its own, and an
// example can be typed as it is printed.
func TestWrap(t *testing.T) {
	long := strings.Repeat("x", 90)
	many := strings.TrimSpace(strings.Repeat("word ", 20))
	for _, c := range []struct {
		name string
		page Page
		want string
	}{
		{"usage", Page{Words: "git ward a", Usage: []string{"a [--one " + strings.Repeat("O", 30) + "] [--two " + strings.Repeat("T", 30) + "]"}},
			"usage: git ward a [--one " + strings.Repeat("O", 30) + "]\n           [--two " + strings.Repeat("T", 30) + "]\n"},
		{"a group that is too long", Page{Words: "git ward a", Usage: []string{"a [--one [--two " + strings.Repeat("T", 40) + "] [--three " + strings.Repeat("T", 20) + "]]"}},
			"usage: git ward a [--one [--two " + strings.Repeat("T", 40) + "]\n           [--three " + strings.Repeat("T", 20) + "]]\n"},
		{"flag", Page{Words: "git ward a", Flags: []Flag{{Name: "one", Text: many}}},
			"  --one                    " + strings.TrimSpace(strings.Repeat("word ", 10)) + "\n" + strings.Repeat(" ", 27) + strings.TrimSpace(strings.Repeat("word ", 10)) + "\n"},
		{"a word", Page{Words: "git ward a", Flags: []Flag{{Name: "one", Text: "a " + long + " b"}}},
			"  --one                    a\n" + strings.Repeat(" ", 27) + long + "\n" + strings.Repeat(" ", 27) + "b\n"},
		{"paragraphs", Page{Words: "git ward a", Long: many + "\n\n  a table " + long}, "\n\n" + strings.TrimSpace(strings.Repeat("word ", 16)) + "\nword word word word\n\n  a table " + long + "\n"},
		{"example", Page{Words: "git ward a", Examples: []Example{{Line: "a '" + strings.Repeat("o ", 20) + "' " + strings.Repeat("p", 30), Doc: "it"}}},
			"  git ward a '" + strings.Repeat("o ", 20) + "' \\\n      " + strings.Repeat("p", 30) + "\n      it\n"},
	} {
		var b strings.Builder
		if err := c.page.WriteText(&b); err != nil || !strings.Contains(b.String(), c.want) {
			t.Errorf("%s: %v\n%s", c.name, err, b.String())
		}
	}
}
