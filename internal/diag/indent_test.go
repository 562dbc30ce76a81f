package diag

import "testing"

func TestIndent(t *testing.T) {
	for in, want := range map[string]string{"a": "    a\n", "a\nb\n": "    a\n    b\n", "a\n\nb": "    a\n    \n    b\n"} {
		if got := Indent(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}
