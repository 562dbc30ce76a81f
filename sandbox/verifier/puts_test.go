package verifier

import (
	"strings"
	"testing"

	"git-ward/internal/git"
	"git-ward/internal/sources"
)

// TestUnread: what cannot be read is an error each time that the text of the work is asked for.
func TestUnread(t *testing.T) {
	r := newRepository(t)
	c := controlling{trying: &trying{repo: git.Open(r.bare)}, work: &overlaid{main: sources.Tree{}}}
	c.work.do = map[string]string{"calc.c": "100644 " + strings.Repeat("1", 40)}
	for range 2 {
		if found, err := c.puts(t.Context()); err == nil {
			t.Errorf("%v of a text that nobody has", found)
		}
	}
}
