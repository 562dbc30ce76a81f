package interaction

import "testing"

func TestAsks(t *testing.T) {
	for words, want := range map[string]bool{
		"Which colour?": true, "**Which one?**\n": true, "(or \"plum\"?)": true, "用哪一个？": true, "أيّ لون؟": true,
		"It is done.": false, "Is it? It is.": false, "": false,
	} {
		if got := Asks(words); got != want {
			t.Errorf("%q: %v", words, got)
		}
	}
}
