package logfile

import (
	"fmt"
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
}

// TestTwoWriters: of several who write one log none rotates what another has just begun,
// and nothing newer than the predecessor is lost.
func TestTwoWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	var writers [3]*File
	for i := range writers {
		var err error
		if writers[i], err = Open(path, 1000, 0o600); err != nil {
			t.Fatal(err)
		}
		defer writers[i].Close()
	}
	for i := range 150 { // of 10 bytes each: the first file is full after 100
		if _, err := fmt.Fprintf(writers[i%3], "line %04d\n", i); err != nil {
			t.Fatal(err)
		}
	}
	old, _ := os.ReadFile(path + ".1")
	now, _ := os.ReadFile(path)
	if len(old) != 1000 || len(now) != 500 || !strings.HasPrefix(string(now), "line 0100\n") {
		t.Errorf("%d bytes, then %d: %.20q", len(old), len(now), now)
	}
}

// TestLead: what is written past the log, by a descriptor, comes into the new file too.
func TestLead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log")
	l, err := Open(path, 100, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	past, err := os.Create(filepath.Join(dir, "past"))
	if err != nil {
		t.Fatal(err)
	}
	defer past.Close()
	if err := l.Lead(int(past.Fd())); err != nil {
		t.Fatal(err)
	}
	l.Write(make([]byte, 90))
	l.Write([]byte("a new file\n"))
	fmt.Fprintln(past, "panic: last words")
	if data, _ := os.ReadFile(path); string(data) != "a new file\npanic: last words\n" {
		t.Errorf("%q", data)
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
