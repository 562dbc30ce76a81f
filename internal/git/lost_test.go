package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLostObjects: a file that a commit has and the repository lost is an error, not a
// commit without the file: nobody may take it for an empty COMMS.md.
func TestLostObjects(t *testing.T) {
	dir, run := newBare(t)
	blob := run("text", "hash-object", "-w", "--stdin")
	folder := run("100644 blob "+blob+"\tdeep\n", "mktree")
	link := "160000 commit 1111111111111111111111111111111111111111\tmodule\n"
	top := run(link+"100644 blob "+blob+"\tfile\n040000 tree "+folder+"\tfolder\n", "mktree")
	commit := run("", "commit-tree", "-m", "x", top)
	run("", "update-ref", "refs/heads/main", commit)
	run("", "update-ref", "refs/notes/n", blob)

	ask := func(what, rev, path string, missing bool) {
		t.Helper()
		r := Open(dir).Reader(t.Context())
		defer r.Close()
		data, err := r.File(rev, path, 100)
		if data != nil || errors.Is(err, ErrMissing) != missing || err != nil && !missing {
			t.Errorf("%s, %s:%s: %q %v", what, rev, path, data, err)
		}
	}
	lose := func(id string) {
		if err := os.Remove(filepath.Join(dir, "objects", id[:2], id[2:])); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"none", "folder/none", "none/none", "file/none", "module"} {
		ask("all there", commit, path, false)
	}
	ask("no such ref", "refs/heads/none", "file", false)
	ask("a ref of a blob", "refs/notes/n", "file", false)
	ask("no such commit", strings.Repeat("2", 40), "file", true)
	r := Open(dir).Reader(t.Context())
	defer r.Close()
	if note, err := r.Note("refs/notes/n", commit, 100); err == nil {
		t.Errorf("a notes ref without a tree has the note %q", note)
	}
	lose(blob)
	ask("the blob is lost", commit, "file", true)
	ask("the blob is lost", "refs/heads/main", "folder/deep", true)
	ask("the blob is lost", commit, "none", false)
	lose(folder)
	ask("the folder is lost", commit, "folder/deep", true)
	lose(top)
	ask("the tree is lost", "refs/heads/main", "file", true)
}
