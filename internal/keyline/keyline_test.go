package keyline

import (
	"slices"
	"testing"
)

// TestTheirs: a line is Ward's by its beginning and its whole comment, and by nothing else in it.
func TestTheirs(t *testing.T) {
	const key = "ssh-ed25519 AAAA"
	data := Empty + "\n" + Begin + `x",command="x" ` + key + " ward:D-3.0123\n" + key + " ward:laptop\n" + key + " pat@host\n\n# mine\n" + key + " x ward:pat y\n" + key + " ward:\n"
	if got, want := Theirs([]byte(data)), []string{key + " ward:laptop", key + " pat@host", "# mine", key + " x ward:pat y", key + " ward:"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if name := Name(Begin + key + " " + Comment("D-3.0123")); name != "D-3.0123" {
		t.Error(name)
	}
}
