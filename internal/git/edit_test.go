package git

import (
	"strings"
	"testing"
	"time"
)

// What EditTree makes of a tree, git's own index makes of it, too.
func TestEditTree(t *testing.T) {
	dir, run := newBare(t)
	repo := Open(dir)
	batch := repo.Batch(t.Context())
	defer batch.Close()
	tree := ""
	for _, c := range []struct {
		files string // "path=content", "-path" takes out
		want  string // of git ls-tree -r: names with contents
	}{
		{"a=1 d/x=2 d/y=3 d.x=4 d/e/f=5", "a=1 d.x=4 d/e/f=5 d/x=2 d/y=3"},
		{"", "a=1 d.x=4 d/e/f=5 d/x=2 d/y=3"},
		{"a=6 -d/e/f -none -none/below", "a=6 d.x=4 d/x=2 d/y=3"},
		{"a/b/c=7 d=8", "a/b/c=7 d=8 d.x=4"},
		{"-a/b/c -d -d.x", ""},
		{"z=9", "z=9"},
	} {
		files := map[string][]byte{}
		for _, word := range strings.Fields(c.files) {
			name, content, put := strings.Cut(word, "=")
			if put {
				files[name] = []byte(content)
			} else {
				files[strings.TrimPrefix(name, "-")] = nil
			}
		}
		var err error
		if tree, err = batch.EditTree(tree, files); err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(run("", "ls-tree", "-r", tree)) {
			mode, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
			fields := strings.Fields(mode)
			if fields[0] != "100644" {
				t.Error(line)
			}
			got = append(got, name+"="+run("", "cat-file", "blob", fields[2]))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s, want %s", c.files, got, c.want)
		}
	}
	for _, bad := range []string{"", "/a", "a/", "a//b", "../a", "a/../b", ".", "..", "./a"} {
		if _, err := batch.EditTree(tree, map[string][]byte{bad: nil}); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	when := time.Unix(1_700_000_000, 0)
	first, err := repo.CommitTree(Ward, tree, "", when, "first")
	if err != nil {
		t.Fatal(err)
	}
	second, err := repo.CommitMerge(Ward, tree, []string{"", first, Zero, first}, when, "second")
	if err != nil {
		t.Fatal(err)
	}
	if got := run("", "log", "--format=%P %s", "--no-walk", second); got != first+" "+first+" second" {
		t.Error(got)
	}
	run("", "fsck", "--strict", first)
}
