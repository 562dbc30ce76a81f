package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	tree := &Tree{Dir: dir, Env: append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org")}
	out, err := tree.Git(context.Background(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// commit writes files into a branch of dir; orphan makes it of nothing.
func commit(t *testing.T, dir, branch string, orphan bool, files map[string]string) {
	t.Helper()
	if orphan {
		run(t, dir, "checkout", "--quiet", "--orphan", branch)
		run(t, dir, "rm", "-rq", "--cached", "--ignore-unmatch", ".")
		run(t, dir, "clean", "-fdxq")
	} else {
		run(t, dir, "checkout", "--quiet", "-B", branch)
	}
	for name, text := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	run(t, dir, "add", "--all")
	run(t, dir, "commit", "--quiet", "--message=x")
}

// TestDocuments: control's documents are those of the tree in a clone of a person's, of
// control's ref beside a project that was adopted, and always in the agent's clone.
func TestDocuments(t *testing.T) {
	origin := t.TempDir()
	run(t, origin, "init", "--quiet", "--initial-branch=master")
	commit(t, origin, "master", false, map[string]string{"main.go": "x", "SYSTEM.md": "the project's own"})
	commit(t, origin, "ward", true, map[string]string{"COMMS.md": "# COMMS\n", "SYSTEM.md": "control's"})
	run(t, origin, "checkout", "--quiet", "master")
	clone := t.TempDir()
	run(t, clone, "init", "--quiet")
	run(t, clone, "remote", "add", "origin", origin)
	run(t, clone, "fetch", "--quiet", "origin")
	run(t, clone, "remote", "set-head", "origin", "master")
	run(t, clone, "checkout", "--quiet", "master")
	read := func(want string) {
		t.Helper()
		data, err := (&Tree{Dir: clone}).Document(t.Context(), "SYSTEM.md", 100)
		if err != nil || string(data) != want {
			t.Errorf("%q %v, not %q", data, err, want)
		}
	}
	read("control's")
	if _, err := (&Tree{Dir: clone}).Document(t.Context(), "main.go", 100); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	run(t, clone, "checkout", "--quiet", "ward")
	if err := os.WriteFile(filepath.Join(clone, "SYSTEM.md"), []byte("edited"), 0o644); err != nil {
		t.Fatal(err)
	}
	read("edited")
	run(t, clone, "config", "ward.record", ".ward")
	read("control's")
	if where, err := (&Tree{Dir: clone}).RecordPath(t.Context(), "plans/x"); err != nil || where != ".ward/plans/x" {
		t.Error(where, err)
	}
	run(t, clone, "config", "ward.record", "../out")
	if _, err := (&Tree{Dir: clone}).RecordPath(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), `ward.record is "../out"`) {
		t.Error(err)
	}
	run(t, clone, "config", "--unset", "ward.record")
	if where, err := (&Tree{Dir: clone}).RecordPath(t.Context(), "plans/x"); err != nil || where != "plans/x" {
		t.Error(where, err)
	}
}
