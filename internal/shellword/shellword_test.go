package shellword

import (
	"os/exec"
	"testing"
)

// TestQuote: a shell takes words for what they were, in a command's place and as arguments.
func TestQuote(t *testing.T) {
	texts := []string{"", "a", "/srv/a b.git", "it's", "'", "''", "$(id)", "a;b", "a\nb\n", "`id`", "*", "\\", "~", "#x", `"`, "if", "A=b", "\x80"}
	line, want := Line("printf", `%s\0`), ""
	for _, text := range texts {
		line += " " + Quote(text)
		want += text + "\x00"
	}
	out, err := exec.Command("sh", "-c", line).Output()
	if err != nil || string(out) != want {
		t.Errorf("a shell reads %q of %q (%v)", out, line, err)
	}
	if got := Line(); got != "" {
		t.Errorf("no words are %q", got)
	}
	if out, err := exec.Command("sh", "-c", Line("if", "x")).CombinedOutput(); err == nil || len(out) == 0 {
		t.Errorf("the command `if` is taken for the shell's own word: %q", out)
	}
}
