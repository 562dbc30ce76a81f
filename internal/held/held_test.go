package held

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBook: what is held out is found by its hash alone, and its files lie in the tree while
// the command runs, whatever they are named and hold.
func TestBook(t *testing.T) {
	bare, dir := t.TempDir(), t.TempDir()
	b := New([]Criterion{{"it holds", "test \"$(cat 'a b/it'\\''s.txt')\" = '$(x)' && ./run"}, {"it fails", "exit 3"}},
		[]File{{"a b/it's.txt", false, []byte("$(x)\n")}, {"run", true, []byte("#!/bin/sh\nexit 0\n")}})
	hash, err := b.Write(bare, "D-1")
	if err != nil {
		t.Fatal(err)
	}
	if other, err := New(b.Criteria, b.Files).Write(bare, "D-1"); err != nil || other == hash {
		t.Errorf("the same criteria have one hash: %v", err)
	}
	got, err := Read(bare, "D-1", hash)
	if err != nil || len(got.Criteria) != 2 || len(got.Files) != 2 {
		t.Fatal(got, err)
	}
	for n, want := range []int{0, 3} {
		line, err := got.Line(got.Criteria[n])
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = dir
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != want {
			t.Errorf("%s: exit %d\n%s", got.Criteria[n].Text, cmd.ProcessState.ExitCode(), out)
		}
	}
	for _, name := range []string{"D-2", "D-1"} {
		if name == "D-1" {
			if err := os.WriteFile(filepath.Join(bare, "ward", "held", "D-1."+hash+".json"), []byte("{}"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Read(bare, name, hash); err == nil || !strings.Contains(err.Error(), "held out of "+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(nil, []File{{"large", false, make([]byte, maxBook)}}).Write(bare, "D-1"); err == nil {
		t.Error("a book of more than its reader takes")
	}
}
