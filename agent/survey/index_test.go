package survey

import (
	"os/exec"
	"testing"

	"git-ward/internal/worktree"
	"git-ward/protocols/symbols"
)

// tree is a working tree whose tracked files are these.
func tree(t *testing.T, files map[string]string) *worktree.Tree {
	t.Helper()
	w := &worktree.Tree{Dir: t.TempDir()}
	run(t, w, "init", "--quiet")
	write(t, w, files)
	return w
}

func run(t *testing.T, w *worktree.Tree, args ...string) {
	t.Helper()
	if out, err := exec.Command("git", append([]string{"-C", w.Dir}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// write writes files and adds them.
func write(t *testing.T, w *worktree.Tree, files map[string]string) {
	t.Helper()
	for path, text := range files {
		if err := w.Write(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	run(t, w, "add", "--all")
}

// TestDocuments: the index is written where it is stale, and then it is not.
func TestDocuments(t *testing.T) {
	w := tree(t, map[string]string{"a.go": "package a\n\nfunc F() {}\n"})
	for _, want := range []bool{true, false} {
		index, err := Survey(t.Context(), w)
		if err != nil || len(index.Symbols.Symbols) != 1 {
			t.Fatal(index, err)
		}
		list, err := index.Documents(t.Context(), w)
		if err != nil || len(list) != 2 || list[0].Path != symbols.SymbolsPath || list[0].Stale != want {
			t.Fatal(list, err)
		}
		if err := Refresh(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
}
