package plan

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"git-ward/internal/diag"
)

var update = flag.Bool("update", false, "write what the lint says into testdata")

// mapTree is a tree in memory.
type mapTree map[string]string

func (m mapTree) Kind(path string) (Kind, error) {
	if _, ok := m[path]; ok {
		return File, nil
	}
	for name := range m {
		if path == "." || strings.HasPrefix(name, path+"/") {
			return Folder, nil
		}
	}
	return Missing, nil
}

func (m mapTree) ReadFile(path string, limit int64) ([]byte, error) {
	text, ok := m[path]
	if !ok {
		return nil, fs.ErrNotExist
	}
	if int64(len(text)) > limit {
		return nil, diag.ErrTooLarge
	}
	return []byte(text), nil
}

func (m mapTree) machines(path string) ([]byte, error) { return m.ReadFile("main:"+path, MaxBytes) }

// TestLint lints every plan of testdata/*.txtar in the tree of its archive, and
// compares all that is said with the archive's file want. Escapes of Go strings in
// a file NAME.quoted make a file NAME of bytes that no archive can hold.
func TestLint(t *testing.T) {
	archives, _ := filepath.Glob("testdata/*.txtar")
	if len(archives) < 5 {
		t.Fatal("the archives are gone")
	}
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tree, plans := mapTree{}, []string{}
		for _, f := range archive.Files {
			path, text := f.Name, string(f.Data)
			if p, ok := strings.CutSuffix(path, ".quoted"); ok {
				path = p
				if _, err := fmt.Sscanf(text, "%q", &text); err != nil {
					t.Fatalf("%s: %s: %v", name, f.Name, err)
				}
			}
			if path == "want" {
				continue
			}
			tree[path] = text
			if strings.HasPrefix(path, "plans/") && !strings.HasSuffix(path, ".udc") {
				plans = append(plans, path)
			}
		}
		got := lintAll(t, tree, plans)
		if *update {
			writeWant(t, name, archive, got)
		} else if want := wanted(archive); got != want {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", name, got, want)
		}
	}
}

// newMapLinter knows one lesson and one commit.
func newMapLinter(tree mapTree) *Linter {
	l := NewLinter(tree, tree.machines)
	l.Citations(func(id string) (bool, error) { return id == "L-0123456789ab" || id == "1234567", nil })
	return l
}

func lintAll(t *testing.T, tree mapTree, plans []string) string {
	t.Helper()
	var b strings.Builder
	l := newMapLinter(tree)
	for _, p := range plans {
		found, err := l.Lint(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := newMapLinter(tree).Lint(p)
		if err != nil || render(again) != render(found) {
			t.Errorf("%s: linted alone it is\n%s\nnot\n%s", p, render(again), render(found))
		}
		b.WriteString(render(found))
	}
	return b.String()
}

func render(found []diag.Diagnostic) string {
	var b strings.Builder
	diag.WriteText(&b, found)
	return b.String()
}

func wanted(a *txtar.Archive) string {
	for _, f := range a.Files {
		if f.Name == "want" {
			return string(f.Data)
		}
	}
	return ""
}

func writeWant(t *testing.T, name string, a *txtar.Archive, got string) {
	t.Helper()
	kept := a.Files[:0]
	for _, f := range a.Files {
		if f.Name != "want" {
			kept = append(kept, f)
		}
	}
	a.Files = append(kept, txtar.File{Name: "want", Data: []byte(got)})
	if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}
