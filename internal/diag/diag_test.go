package diag

import (
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain text, ünïcode": "plain text, ünïcode",
		"a\x1b[31mred":        `a\x1b[31mred`,
		"new\nline\ttab":      `new\nline\ttab`,
		"\u202egnp.exe":       `\u202egnp.exe`,
		"bad \xff byte":       `bad \xff byte`,
		"zero\u200bwidth":     `zero\u200bwidth`,
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestTextGroupsSortsAndCounts(t *testing.T) {
	ds := []Diagnostic{
		{Pos: Pos{"bbbbbbbbbbbbbbbb", "z", 2, 1}, Rule: "r/x", Message: "m"},
		{Pos: Pos{"bbbbbbbbbbbbbbbb", "a", 1, 4}, Rule: "r/y", Message: "m\x1b", Hint: "do this"},
		{Pos: Pos{"bbbbbbbbbbbbbbbb", "a", 1, 4}, Rule: "r/y", Message: "m\x1b", Hint: "do this"},
		{Ref: "refs/tags/x", Rule: "ref/tag", Message: "no", Severity: Warning},
	}
	for i := range MaxListed {
		ds = append(ds, Diagnostic{Pos: Pos{"cccccccccccccccc", "p", i + 1, 0}, Rule: "r/z", Message: "m"})
	}
	var b strings.Builder
	WriteText(&b, Normalize(ds))
	head := "refs/tags/x: warning: ref/tag: no\n" +
		"commit bbbbbbbbbbbb\na:1:4: r/y: m\\x1b\nhint: do this\nz:2:1: r/x: m\n" +
		"commit cccccccccccc\np:1: r/z: m\n"
	if got := b.String(); !strings.HasPrefix(got, head) || !strings.HasSuffix(got, "p:47: r/z: m\n... and 3 more findings\n") {
		t.Errorf("got:\n%s", got)
	}
}

func TestNearest(t *testing.T) {
	for word, want := range map[string]string{"read_fil": "read_file", "Bash": "bash", "xyzzyq": ""} {
		if got := Nearest(word, []string{"read_file", "write_file", "bash"}); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
