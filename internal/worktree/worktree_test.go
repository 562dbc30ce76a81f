package worktree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestConfined: what leads out of the tree is neither read nor written.
func TestConfined(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	for _, d := range []string{".git", "real"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	secret := filepath.Join(outside, "secret")
	if err := errors.Join(os.WriteFile(secret, []byte("x"), 0o600), os.Symlink(outside, filepath.Join(dir, "out")),
		os.Symlink(secret, filepath.Join(dir, "link")), os.Symlink("real", filepath.Join(dir, "in"))); err != nil {
		t.Fatal(err)
	}
	tree, err := Find(filepath.Join(dir, "real"))
	if err != nil || tree.Dir != dir {
		t.Fatal(tree, err)
	}
	for _, path := range []string{"out/secret", "link", "../" + filepath.Base(outside) + "/secret", secret} {
		if data, err := tree.Read(path, 10); err == nil {
			t.Errorf("read %s: %q", path, data)
		}
	}
	for _, path := range []string{"out/new", "out/deep/new", "link", "../new"} {
		if err := tree.Write(path, []byte("y")); err == nil {
			t.Errorf("wrote %s", path)
		}
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 1 {
		t.Errorf("outside: %v", entries)
	}
	if err := tree.Write("in/new", []byte("y")); err != nil {
		t.Error(err)
	}
	if _, err := Find(outside); err == nil {
		t.Error("found a working tree where there is none")
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	tree := &Tree{Dir: dir}
	for _, git := range []bool{false, true} {
		if git {
			if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := tree.Write("a/b/c", []byte("one")); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, "a/b/c"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := tree.Write("a/b/c", []byte("two")); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(filepath.Join(dir, "a/b/c")); err != nil || info.Mode().Perm() != 0o755 {
			t.Error("an executable did not stay one", err)
		}
	}
	var large *TooLarge
	if _, err := tree.Read("a/b/c", 2); !errors.As(err, &large) {
		t.Error(err)
	}
	if data, err := tree.Read("a/b/c", 3); err != nil || string(data) != "two" {
		t.Error(string(data), err)
	}
	if _, err := tree.Read("a/none", 3); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if paths, err := tree.Walk("a/", func(string) bool { return true }); err != nil || len(paths) != 1 || paths[0] != "a/b/c" {
		t.Error(paths, err)
	}
	if paths, err := tree.Walk("none", func(string) bool { return true }); err != nil || len(paths) != 0 {
		t.Error(paths, err)
	}
	if err := tree.Write("a", nil); err == nil {
		t.Error("replaced a folder")
	}
}
