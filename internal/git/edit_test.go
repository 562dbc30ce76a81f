package git

import (
	"path/filepath"
	"strconv"
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

// What PutEntries makes of a tree, git update-index --replace makes of it, too.
func TestPutEntries(t *testing.T) {
	dir, run := newBare(t)
	repo := Open(dir)
	batch := repo.Batch(t.Context())
	defer batch.Close()
	blob, err := repo.WriteObject("blob", []byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	tree, _ := batch.EditTree("", map[string][]byte{"a": []byte("1"), "d/x": []byte("2"), "d/y/z": []byte("3"), "e.c": []byte("4")})
	for _, changes := range []string{
		"100755 a", "120000 d/l", "160000 m/sub", "0 a", "0 d/x,0 d/y/z", "0 d/x,0 d/y/z,100644 d", "100644 d", "0 a,100644 a/b", "100644 a/b/c", "0 gone,0 d", "100644 e,120000 e.d",
	} {
		entries, info := map[string]Entry{}, ""
		for change := range strings.SplitSeq(changes, ",") {
			mode, name, _ := strings.Cut(change, " ")
			octal, err := strconv.ParseUint(mode, 8, 32)
			if err != nil {
				t.Fatal(err)
			}
			if entries[name] = (Entry{}); octal == 0 {
				info += "0 " + Zero + "\t" + name + "\n"
				continue
			}
			entries[name] = Entry{Mode: Mode(octal), ID: blob}
			info += mode + " " + blob + "\t" + name + "\n"
		}
		got, err := batch.PutEntries(tree, entries)
		run("", "read-tree", tree)
		run(info, "update-index", "--replace", "--index-info")
		if want := run("", "write-tree"); got != want || err != nil {
			t.Errorf("%s: %v\n%s\nand git\n%s", changes, err, run("", "ls-tree", "-r", got), run("", "ls-tree", "-r", want))
		}
	}
}

// What is written beside a repository is read from there, and lies nowhere else.
func TestBesideWrites(t *testing.T) {
	dir, run := newBare(t)
	made := t.TempDir()
	repo := Open(dir).WithObjectDir(made)
	batch := repo.Batch(t.Context())
	defer batch.Close()
	tree, err := batch.EditTree("", map[string][]byte{"a": []byte("1")})
	if err != nil {
		t.Fatal(err)
	}
	commit, err := repo.CommitTree(Ward, tree, "", time.Unix(1, 0), "made")
	if err != nil {
		t.Fatal(err)
	}
	if _, data, err := batch.Read(commit+":a", 10); string(data) != "1" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	if list, err := filepath.Glob(made + "/??/*"); len(list) != 3 || err != nil {
		t.Errorf("%q, %v", list, err)
	}
	if have := run("", "count-objects"); !strings.HasPrefix(have, "0 objects") {
		t.Error(have)
	}
}
