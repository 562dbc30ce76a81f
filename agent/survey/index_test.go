package survey

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// TestDocuments: an agent's index is written where it is stale, and then it is not. Nothing is
// written into the tree of a person.
func TestDocuments(t *testing.T) {
	w := tree(t, map[string]string{"a.go": "package a\n\nfunc F() {}\n"})
	if _, err := Refresh(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Read(symbols.SymbolsPath, 1<<20); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the index is in a person's tree: %v", err)
	}
	run(t, w, "config", "ward.record", worktree.RecordDir)
	w = &worktree.Tree{Dir: w.Dir}
	for _, want := range []bool{true, false} {
		index, err := Survey(t.Context(), w)
		if err != nil || len(index.Symbols.Symbols) != 1 {
			t.Fatal(index, err)
		}
		list, err := index.Documents(t.Context(), w)
		if err != nil || len(list) != 2 || list[0].Path != worktree.RecordDir+"/"+symbols.SymbolsPath || list[0].Stale != want {
			t.Fatal(list, err)
		}
		if _, err := Refresh(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
}

// names are the symbols of a survey, and how many files it read.
func names(t *testing.T, w *worktree.Tree) (string, int) {
	t.Helper()
	index, err := Survey(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, s := range index.Symbols.Symbols {
		list = append(list, s.File+":"+s.Name)
	}
	return strings.Join(list, " "), index.Read
}

// TestIncremental: only what changed is read again, whether it is committed or not; a file
// that moved is known; what was kept is of no worth when it is broken.
func TestIncremental(t *testing.T) {
	w := tree(t, map[string]string{"a.go": "package a\n\nfunc A() {}\n", "b.py": "def b(): pass\n", "c/go.mod": "module example.org/c\n"})
	check := func(step, want string, wantRead int) {
		t.Helper()
		if got, read := names(t, w); got != want || read != wantRead {
			t.Errorf("%s: %s, %d read; want %s, %d", step, got, read, want, wantRead)
		}
	}
	check("first", "a.go:A b.py:b", 3)
	check("again", "a.go:A b.py:b", 0)
	write(t, w, map[string]string{"a.go": "package a\n\nfunc A2() {}\n"})
	check("changed", "a.go:A2 b.py:b", 1)
	if err := w.Write("b.py", []byte("def b2(): pass\n")); err != nil {
		t.Fatal(err)
	}
	check("changed in the working tree", "a.go:A2 b.py:b2", 1)
	check("again so", "a.go:A2 b.py:b2", 0)
	run(t, w, "mv", "a.go", "moved.go")
	check("moved", "b.py:b2 moved.go:A2", 0)
	if err := os.WriteFile(filepath.Join(w.Dir, ".git", keptName), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	check("broken", "b.py:b2 moved.go:A2", 3)
}

// TestTagger: ctags reads what has no reader of its own, takes no options of the tree, and
// no file's name for one.
func TestTagger(t *testing.T) {
	if findTagger(t.Context()) == nil {
		t.Skip("SKIPPED: universal-ctags is not installed")
	}
	w := tree(t, map[string]string{
		"lib/a.js":         "class A {\n  m() {}\n}\nimport x from './b'\nfunction f() { const inner = 1 }\n",
		"lib/b.js":         "",
		"-x.rb":            "class R\n  def m\n  end\nend\n",
		"new\nline.rb":     "def lost\nend\n",
		".ctags.d/x.ctags": "--languages=-JavaScript\n--kinddef-Ruby=x\n",
		"x.c":              "static int twice(int n) {\n\treturn n;\n}\n#define MAX 3\n",
		"K.java":           "class K {\n  void run() {}\n}\n",
	})
	got, _ := names(t, w)
	for _, want := range []string{"lib/a.js:A", "lib/a.js:A.m", "lib/a.js:f", "-x.rb:R", "-x.rb:R.m", "x.c:twice", "x.c:MAX", "K.java:K", "K.java:K.run"} {
		if !strings.Contains(" "+got+" ", " "+want+" ") {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if strings.Contains(got, "inner") {
		t.Error(got)
	}
	index, err := Survey(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	cover := fmt.Sprint(index.Symbols.Coverage.Languages)
	if !strings.Contains(cover, "{JavaScript and TypeScript 2 universal-ctags}") || fmt.Sprint(index.Graph.Edges) != "[{lib/a.js ./b lib/b.js}]" {
		t.Error(cover, index.Graph.Edges)
	}
}

// TestCoverage: what was not read is said, and why.
func TestCoverage(t *testing.T) {
	w := tree(t, map[string]string{"big.go": "package a\n" + strings.Repeat("// x\n", 300_000), "a.go": "package a\nfunc F( {", "note.txt": "x"})
	index, err := Survey(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	c := index.Symbols.Coverage
	if fmt.Sprint(c.Skipped) != "[{a.go it has syntax errors} {big.go it is larger than what is read}]" || fmt.Sprint(c.Unread) != "map[.txt:1]" {
		t.Errorf("%+v", c)
	}
}
