package relay

import (
	"strings"
	"testing"
)

// TestParseLine: what the gate's stream says is taken as it is written, or not at all.
func TestParseLine(t *testing.T) {
	zero, one := strings.Repeat("0", 40), strings.Repeat("1", 40)
	for line, want := range map[string]string{
		".\n":                    ". |  | ",
		"HEAD refs/heads/main\n": "HEAD | refs/heads/main | ",
		zero + " " + one + " refs/heads/agent/D-1\n": zero + " | " + one + " | refs/heads/agent/D-1",
	} {
		old, now, ref, err := parseLine(line)
		if got := old + " | " + now + " | " + ref; got != want || err != nil {
			t.Errorf("%q: %s %v", line, got, err)
		}
	}
	for _, line := range []string{"\n", "..\n", "HEAD\n", "HEAD --upload-pack=id\n", "HEAD refs/../x\n", zero + " " + one + "\n", zero + " " + one + " HEAD\n",
		zero + " " + one + " refs/../../etc/passwd\n", zero + " x refs/heads/a\n", zero + " " + one + " refs/heads/a b\n"} {
		if old, now, ref, err := parseLine(line); err == nil {
			t.Errorf("%q is taken: %q %q %q", line, old, now, ref)
		}
	}
}
