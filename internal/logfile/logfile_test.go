package logfile

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l, err := Open(path, 100, 0o640)
	if err != nil {
		t.Fatal(err)
	}
	for range 25 {
		if _, err := l.Write([]byte("ten bytes\n")); err != nil {
			t.Fatal(err)
		}
	}
	l.Close()
	for name, want := range map[string]int{path: 5, path + ".1": 10} {
		data, err := os.ReadFile(name)
		if n := strings.Count(string(data), "ten bytes\n"); err != nil || n != want || len(data) != 10*want {
			t.Errorf("%s: %d lines, want %d (%v)", name, n, want, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v %v", info, err)
	}
	if l, err = Open(path, 100, 0o640); err != nil || l.size != 50 {
		t.Errorf("opened again: %+v %v", l, err)
	}
}

func TestOnlyRegularFiles(t *testing.T) {
	dir := t.TempDir()
	os.Symlink(filepath.Join(dir, "target"), filepath.Join(dir, "link"))
	syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600)
	for _, name := range []string{"link", "pipe", "."} {
		if _, err := Open(filepath.Join(dir, name), 100, 0o600); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "target")); err == nil {
		t.Error("the link was followed")
	}
}
