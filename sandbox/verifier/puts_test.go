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

// TestUnreadOnce: nothing more is read after what cannot be, so that the error says it once.
func TestUnreadOnce(t *testing.T) {
	r := newRepository(t)
	repo := git.Open(r.bare)
	id, err := repo.WriteObject("blob", []byte("int clock(void) { return 0; }\n"))
	if err != nil {
		t.Fatal(err)
	}
	there, missing := "100644 "+id, "100644 "+strings.Repeat("1", 40)
	for name, work := range map[string]*overlaid{
		"the work": {main: sources.Tree{"calc.c": missing}, differences: differences{do: map[string]string{"calc.c": missing}}},
		"the rest": {tree: "tree", main: sources.Tree{"go.mod": missing}, differences: differences{do: map[string]string{"calc.c": there}}},
	} {
		c := controlling{trying: &trying{repo: repo, listed: map[string]sources.Tree{"tree": {"check.c": missing}}}, work: work, checks: map[string]bool{"check.c": true}}
		if found, err := c.puts(t.Context()); err == nil || strings.Count(err.Error(), strings.Repeat("1", 40)) != 1 {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
}
