package verifier

import (
	"slices"
	"testing"
)

// TestExported: what others can use is there, with its types; bodies, values and comments are not.
func TestExported(t *testing.T) {
	src := `// Package p.
package p

import "io"

// Limit bounds it.
const Limit = 3

const (
	A = iota
	b
	C
)

var (
	V      = f()
	W, w   io.Reader
	unseen int
)

type T struct {
	Name string // of it
	size int
}

type (
	I interface {
		Do(n int) error
		undo()
	}
	t struct{ X int }
)

// F does it.
func F(a, b int) (n int, err error) { return a + b, nil }
func f() int                       { return 1 }
func (T) M()                       {}
func (T) m()                       {}
func (*t) N()                      {}
`
	want := []string{"package p", "const Limit = 3", "const A = iota", "const C", "var V", "var W io.Reader",
		"type T struct { Name string }", "type I interface { Do(n int) error }",
		"func F(a, b int) (n int, err error)", "func (T) M()"}
	if got := exported([]byte(src)); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for _, src := range []string{"", "no Go", "package p\nfunc f() {}\n"} {
		if got := exported([]byte(src)); len(got) > 0 {
			t.Errorf("%q: %q", src, got)
		}
	}
	if got := exported([]byte("package p\nfunc () F() {}\n")); len(got) == 0 { // a method without a receiver
		t.Errorf("%q", got)
	}
	if got := exported([]byte("package p\nfunc F() {}\nfunc G( {\n")); !slices.Contains(got, "func F()") {
		t.Errorf("%q", got)
	}
}
