package held

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestBook: what is held out is found by its hash alone, and so is the host's word on it.
func TestBook(t *testing.T) {
	bare := t.TempDir()
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
	if f := got.Files[0]; f.Path != "a b/it's.txt" || string(f.Data) != "$(x)\n" || f.Executable || !got.Files[1].Executable {
		t.Errorf("%+v", got.Files)
	}
	word := Word{"c1", []string{"fails", ""}}
	if none, err := ReadWord(bare, "D-1", hash); err != nil || none.Commit != "" {
		t.Errorf("a word before any claim was judged: %+v, %v", none, err)
	}
	if err := word.Write(bare, "D-1", hash); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadWord(bare, "D-1", hash); err != nil || got.Commit != "c1" || !slices.Equal(got.Says, word.Says) {
		t.Errorf("%+v, %v", got, err)
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
