package site

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"git-ward/hooks/view"
	"git-ward/internal/gittest"
)

// facts is a fixture whose directives have facts of their own, and that says what was read.
type facts struct {
	fixture
	of   map[string]string // by directive
	read map[string]int
}

func (f facts) Facts(_ context.Context, name string) (view.Facts, error) {
	return view.Facts{Directive: f.of[name], Review: "of " + f.of[name]}, nil
}

func (f facts) Directive(ctx context.Context, name string) (*view.Directive, error) {
	f.read[name]++
	d, err := f.fixture.Directive(ctx, name)
	if err == nil && name == "D-2" { // nothing of it goes on
		d.Units = d.Units[1:]
	}
	return d, err
}

func (f facts) Overview(ctx context.Context) (*view.Overview, error) {
	o, err := f.fixture.Overview(ctx)
	if f.of["now"] != "" {
		o.Directives[0].Updated = day.Add(24 * time.Hour)
	}
	return o, err
}

// TestWriteKeeps: a page stays the file that it is while its facts are as they were, and
// is made again where they are not, where somebody took it away, and where time goes on in it.
func TestWriteKeeps(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "report")
	f := facts{fixture{words: "x", n: 4}, map[string]string{}, map[string]int{}}
	for _, c := range []struct {
		what  string
		moves func() error
		read  []string
	}{
		{"the first time", func() error { return nil }, []string{"D-1", "D-2", "D-3", "D-4"}},
		{"again", func() error { return nil }, nil},
		{"one moved", func() error { f.of["D-3"] = "other"; return nil }, []string{"D-3"}},
		{"a page is gone", func() error { return os.Remove(dir + "/D-2.html") }, []string{"D-2"}},
		{"the stamps are gone", func() error { return os.Remove(dir + "/" + stamps) }, []string{"D-1", "D-2", "D-3", "D-4"}},
		{"time went on", func() error { f.of["now"] = "later"; return nil }, []string{"D-1", "D-3", "D-4"}},
		{"again then", func() error { return nil }, nil},
	} {
		if err := c.moves(); err != nil {
			t.Fatal(err)
		}
		clear(f.read)
		before, _ := os.Stat(dir)
		if _, err := Write(t.Context(), dir, f, nil); err != nil {
			t.Fatal(c.what, err)
		}
		if read := slices.Sorted(maps.Keys(f.read)); !slices.Equal(read, c.read) {
			t.Errorf("%s: read %q, want %q", c.what, read, c.read)
		}
		if after, err := os.Stat(dir); err != nil || len(c.read) == 0 != (before != nil && os.SameFile(before, after)) {
			t.Errorf("%s: the directory is the same: %v", c.what, err)
		}
		fresh := filepath.Join(t.TempDir(), "fresh")
		if _, err := Write(t.Context(), fresh, f, nil); err != nil {
			t.Fatal(err)
		}
		if got, want := gittest.Contents(t, dir), gittest.Contents(t, fresh); !maps.Equal(got, want) {
			t.Errorf("%s: it is not as a new one", c.what)
		}
	}
}
