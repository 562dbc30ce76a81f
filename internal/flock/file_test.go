package flock_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/flock"
)

// TestFile: a lock is waited for, its holder's words can be read, and it ends with
// its file.
func TestFile(t *testing.T) { synctest.Test(t, file) }

func file(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := flock.File(t.Context(), path, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.WriteString("mine"); err != nil {
		t.Fatal(err)
	}
	second, err := flock.File(t.Context(), path, 50*time.Millisecond)
	if !errors.Is(err, flock.ErrHeld) {
		t.Fatalf("two have it: %v", err)
	}
	words := make([]byte, 10)
	if n, _ := second.Read(words); string(words[:n]) != "mine" {
		t.Errorf("the holder says %q", words[:n])
	}
	second.Close()
	time.AfterFunc(50*time.Millisecond, func() { first.Close() }) // while the third waits
	third, err := flock.File(t.Context(), path, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	third.Close()
	if _, err := flock.File(t.Context(), filepath.Join(path, "no folder"), 0); err == nil {
		t.Error("a file below a file was locked")
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := flock.File(t.Context(), link, 0); !errors.Is(err, unix.ELOOP) {
		t.Errorf("a link was followed: %v", err)
	}
}
