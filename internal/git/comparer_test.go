package git

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A Comparer says of each pair what a child of its own would say, by two children for all of
// them, and goes on after a pair that nobody heard out and one that it cannot compare.
func TestComparer(t *testing.T) {
	dir, run, ran := hostileBare(t)
	apart, err := Open(dir).Apart(filepath.Join(t.TempDir(), "apart"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := apart.Comparer(ctx)
	defer c.Close()
	trees := []string{EmptyTree}
	for _, rev := range []string{"main~1", "work", "main", "clash"} {
		trees = append(trees, run("", "rev-parse", rev+"^{tree}"))
	}
	compare := func() {
		t.Helper()
		for _, from := range trees {
			for _, to := range trees {
				want, err := apart.Compare(ctx, from, to, 100)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := c.Compare(from, to, 100); err != nil || !slices.Equal(got, want) {
					t.Errorf("%s %s: %v %v, want %v", from, to, got, err, want)
				}
				var patch []string
				for line, err := range c.Patch(from, to) {
					if err != nil {
						t.Fatal(err)
					}
					patch = append(patch, line)
				}
				if want := patchOf(t, ctx, apart, from, to); !slices.Equal(patch, want) {
					t.Errorf("%s %s: %q, want %q", from, to, patch, want)
				}
			}
		}
	}
	compare()
	paths, patch := c.paths.child, c.patch.child
	compare()
	if c.paths.child != paths || c.patch.child != patch {
		t.Error("a second round has other children")
	}
	for range c.Patch(EmptyTree, trees[2]) {
		break
	}
	if _, err := c.Compare(EmptyTree, trees[2], 3); err == nil || !strings.Contains(err.Error(), "more than 3") {
		t.Errorf("more than the limit: %v", err)
	}
	if list, err := c.Compare(trees[1], strings.Repeat("1", 40), 100); err == nil {
		t.Errorf("compared with nothing: %v", list)
	}
	compare()
	if ran() {
		t.Error("a program of the repository's ran")
	}
	cancel()
	if _, err := c.Compare(trees[1], trees[2], 100); err == nil {
		t.Error("compared after the end of its context")
	}
}

// Message is what git log says, in UTF-8.
func TestMessage(t *testing.T) {
	dir, run := newBare(t)
	r := Open(dir).Reader(t.Context())
	defer r.Close()
	for name, c := range map[string]struct{ encoding, message, want string }{
		"plain":         {"", "one\n\ntwo\n", "one\n\ntwo\n"},
		"no end":        {"", "one", "one"},
		"empty":         {"", "", ""},
		"empty lines":   {"", "\n\none\n\n\n", "\n\none\n\n\n"},
		"UTF-8":         {"encoding UTF-8\n", "\u00fc\n", "\u00fc\n"},
		"latin":         {"encoding ISO-8859-1\n", "\xfc\n", "\u00fc\n"},
		"another":       {"encoding ISO-8859-5\n", "\xd0\n", "\u0430\n"},
		"no such":       {"encoding none\n", "\xd0\n", "\xd0\n"},
		"header of own": {"x-of a y\n", "one\n", "one\n"},
	} {
		id := run("tree "+EmptyTree+"\nauthor T <t@t> 1700000000 +0000\ncommitter T <t@t> 1700000000 +0000\n"+c.encoding+"\n"+c.message,
			"hash-object", "-t", "commit", "-w", "--stdin")
		if got, err := r.Message(id); got != c.want || err != nil {
			t.Errorf("%s: %q %v, want %q", name, got, err, c.want)
		}
	}
	if _, err := r.Message(strings.Repeat("1", 40)); err == nil {
		t.Error("a message of no commit")
	}
	if _, err := r.Message(EmptyTree); err == nil {
		t.Error("a message of a tree")
	}
}
