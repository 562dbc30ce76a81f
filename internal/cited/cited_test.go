package cited

import (
	"os"
	"path/filepath"
	"testing"

	"git-ward/internal/git"
	"git-ward/internal/gittest"
)

// TestIn: a commit by its whole id and by the beginning, a lesson of the branch, and one that
// only the memory across directives has; what is none of them is not there.
func TestIn(t *testing.T) {
	dir := t.TempDir()
	gittest.Git(t, dir, "init", "--quiet", "--initial-branch=main")
	commit := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		gittest.Git(t, dir, "add", "--all")
		gittest.Git(t, dir, "commit", "--quiet", "--message=work")
		return gittest.Git(t, dir, "rev-parse", "HEAD")[:40]
	}
	first := commit("knowledge_core/lessons.jsonl", `{"lesson_id":"L-0123456789ab"}`+"\n")
	tree := gittest.Git(t, dir, "rev-parse", "HEAD^{tree}")[:40]
	gittest.Git(t, dir, "notes", "--ref=lessons", "add", "-m", `{"lesson_id":"L-aaaaaaaaaaaa"}`, "HEAD")
	commit("note.md", `"lesson_id":"L-bbbbbbbbbbbb" is only spoken of`)
	known := In(t.Context(), git.Open(filepath.Join(dir, ".git")), "knowledge_core/lessons.jsonl", "refs/notes/lessons")
	for id, want := range map[string]bool{
		first: true, first[:7]: true, tree: false, "0000000": false,
		"L-0123456789ab": true, "L-aaaaaaaaaaaa": true, "L-bbbbbbbbbbbb": false, "L-0123456789a": false,
	} {
		if got, err := known(id); err != nil || got != want {
			t.Errorf("%s: %v, %v", id, got, err)
		}
	}
}
