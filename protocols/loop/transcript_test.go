package loop

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCutTranscript(t *testing.T) {
	for name, text := range map[string]string{
		"lines": strings.Repeat("a line of words\n", 10_000), "one line": strings.Repeat("語", 100_000), "short": "all of it", "none": "",
	} {
		cut := CutTranscript("first\n" + text + "\nlast")
		if len(cut) > MaxTranscript || !utf8.ValidString(cut) || !strings.HasPrefix(cut, "first\n") || !strings.HasSuffix(cut, "\nlast") {
			t.Errorf("%s: %d bytes, %.20q ... %q", name, len(cut), cut, cut[max(0, len(cut)-20):])
		}
		if said := strings.Contains(cut, "bytes are left out here"); said != (len(text) > MaxTranscript) {
			t.Errorf("%s: that it is cut is said: %v", name, said)
		}
	}
}
