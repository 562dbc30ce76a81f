package store

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/protocols/uow"
)

// objects counts the objects that a repository has itself, a pack as one.
func objects(t *testing.T, gitDir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(gitDir, "objects"), func(path string, d fs.DirEntry, err error) error {
		if dir := filepath.Base(filepath.Dir(path)); err == nil && !d.IsDir() && dir != "info" {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// grow gives a branch of the remote a commit with many files, and returns it.
func grow(t *testing.T, s *Store, branch string, files int) string {
	t.Helper()
	var stream strings.Builder
	fmt.Fprintf(&stream, "commit refs/heads/%s\ncommitter a <a> 1700000000 +0000\ndata 5\nmore\n\n", branch)
	fmt.Fprintf(&stream, "from refs/heads/main^0\n")
	for i := range files {
		text := fmt.Sprintf("%s %d", branch, i)
		fmt.Fprintf(&stream, "M 100644 inline dir-%d/%s\ndata %d\n%s\n", i%16, fmt.Sprint(i), len(text), text)
	}
	run(t, s.Bare, stream.String(), "fast-import", "--quiet")
	return run(t, s.Bare, "", "rev-parse", "refs/heads/"+branch)
}

// free removes refs of the remote, and what only they led to.
func free(t *testing.T, s *Store, refs ...string) {
	t.Helper()
	for _, ref := range refs {
		run(t, s.Bare, "", "update-ref", "-d", ref)
	}
	run(t, s.Bare, "", "reflog", "expire", "--expire=now", "--all")
	run(t, s.Bare, "", "gc", "--quiet", "--prune=now")
}

// TestBorrowed: no clone of a store copies what the remote has, and they have all of it.
func TestBorrowed(t *testing.T) {
	s := newStore(t)
	tip := grow(t, s, "main", 300)
	w := work(t, s)
	for _, c := range []*clone{s.main, &w.clone} {
		if n := objects(t, c.gitDir()); n != 0 {
			t.Errorf("%s has %d objects of its own", c.dir, n)
		}
		if data, err := os.ReadFile(filepath.Join(c.dir, "dir-7/7")); string(data) != "main 7" || err != nil {
			t.Errorf("%q, %v", data, err)
		}
		if id, err := c.resolve(t.Context(), "HEAD"); id != tip || err != nil {
			t.Errorf("%s is at %s, %v", c.dir, id, err)
		}
	}
}

// TestFreed: the remote frees what a clone borrows and its refs lead to. The store makes the
// clone anew, at its start and while it runs, and goes on; what was committed there stays.
func TestFreed(t *testing.T) {
	s := newStore(t)
	unit := uow.RefPrefix + "D-1.1"
	lend := func() string {
		t.Helper()
		id := grow(t, s, "side", 20)
		run(t, s.Bare, "", "update-ref", unit, id)
		run(t, s.Bare, "", "update-ref", "refs/tags/v1", id)
		s.main.must(t, "fetch", "--quiet", "origin", unit+":"+unit, "refs/tags/v1:refs/tags/v1")
		if _, err := s.Main(t.Context()); err != nil {
			t.Fatal(err)
		}
		return id
	}
	goesOn := func(s *Store) {
		t.Helper()
		now := grow(t, s, "main", 3)
		m, err := s.Main(t.Context())
		if err != nil || m.Project != now {
			t.Fatalf("%s, and not %s: %v", m.Project, now, err)
		}
		if list, err := s.Journals(t.Context(), "D-1"); err != nil || len(list) != 0 {
			t.Errorf("%v, %v", list, err)
		}
		s.main.must(t, "fsck", "--no-reflogs")
	}
	lend()
	s.main.must(t, "branch", "mine", s.main.must(t, "commit-tree", "-m", "mine", "-p", "HEAD", "HEAD^{tree}"))
	mine := s.main.must(t, "rev-parse", "mine")
	free(t, s, "refs/heads/side", unit, "refs/tags/v1")
	goesOn(s)

	// A branch that grew here upon what is freed, with its files and what is not committed.
	s.main.must(t, "checkout", "--quiet", "-B", "grew", lend())
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(s.main.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("own", "committed\n")
	s.main.must(t, "add", "own")
	s.main.must(t, "commit", "--quiet", "-m", "what grew\n\nhere")
	s.main.must(t, "tag", "-m", "of what goes", "own-tag", "HEAD^")
	write("open", "not committed\n")
	free(t, s, "refs/heads/side", unit, "refs/tags/v1")
	o := s.Options
	again, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if got := again.main.must(t, "cat-file", "-p", "grew:own") + again.main.must(t, "cat-file", "-p", "grew:dir-7/7"); got != "committedside 7" {
		t.Errorf("%q", got)
	}
	if got := again.main.must(t, "log", "-1", "--format=%B", "grew"); got != "what grew\n\nhere\n" {
		t.Errorf("%q", got)
	}
	if got := again.main.must(t, "status", "--porcelain"); got != "?? open" {
		t.Errorf("%q", got)
	}
	branches, err := again.Rescue(t.Context(), again.main.dir, "", true, time.Unix(1700000000, 0))
	if err != nil || len(branches) != 2 {
		t.Errorf("%v, %v", branches, err)
	}
	if got := run(t, s.Bare, "", "cat-file", "-p", "rescue/20231114T221320Z:open"); got != "not committed" {
		t.Errorf("%q", got)
	}
	goesOn(again)
	if got := again.main.must(t, "rev-parse", "mine"); got != mine {
		t.Errorf("%s was %s", got, mine)
	}
}

// must is git in a clone.
func (c *clone) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := c.git(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
