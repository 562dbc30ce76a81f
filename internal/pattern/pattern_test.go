package pattern

import (
	"slices"
	"testing"
)

// TestPattern: each method is that of the compiled expression, and a text that does not
// compile is told at the first use, not at the start.
func TestPattern(t *testing.T) {
	p := New(`([a-z])([0-9])`)
	if p.compiled != nil {
		t.Error("it is compiled before its first use")
	}
	if !p.MatchString("x a1") || p.MatchString("x") || !slices.Equal(p.FindStringSubmatch("x a1 b2"), []string{"a1", "a", "1"}) {
		t.Error("MatchString, FindStringSubmatch")
	}
	if got := p.ReplaceAllString("a1 b2", "$2$1"); got != "1a 2b" {
		t.Error(got)
	}
	if got := p.ReplaceAllStringFunc("a1 b2", func(s string) string { return "<" + s + ">" }); got != "<a1> <b2>" {
		t.Error(got)
	}
	if got := p.FindAllString("a1 b2 c3", 2); !slices.Equal(got, []string{"a1", "b2"}) {
		t.Error(got)
	}
	if got := p.FindAllStringSubmatch("a1 b2", -1); len(got) != 2 || got[1][1] != "b" {
		t.Error(got)
	}
	defer func() {
		if recover() == nil {
			t.Error("a pattern that does not compile is used")
		}
	}()
	New(`(`).MatchString("x")
}
