package diag

import (
	"os/exec"
	"testing"
)

// TestWord: a shell takes a word for what it was.
func TestWord(t *testing.T) {
	for _, text := range []string{"", "/srv/a.git", "/srv/a b.git", "it's", "$(id)", "a;b", "a\nb", "`id`", "*", "\\", "~", "#x", "'", `"`} {
		out, err := exec.Command("sh", "-c", "printf %s "+Word(text)).Output()
		if err != nil || string(out) != text {
			t.Errorf("%q is %q to a shell, %q (%v)", text, Word(text), out, err)
		}
	}
	if got := Word("/srv/a.git"); got != "/srv/a.git" {
		t.Errorf("quoted without need: %s", got)
	}
}
