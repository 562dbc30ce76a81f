package flock_test

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"git-ward/internal/flock"
)

// A lock keeps others out until it is let go, and longer where a child has it.
func TestDir(t *testing.T) {
	dir := t.TempDir()
	first, err := flock.Dir(dir)
	if err != nil {
		t.Fatal(err)
	}
	second := make(chan error)
	go func() {
		f, err := flock.Dir(dir)
		if err == nil {
			err = f.Close()
		}
		second <- err
	}()
	child := exec.Command("cat") // until its input ends, however slow we are
	child.ExtraFiles = append(child.ExtraFiles, first)
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	first.Close()
	if f, err := flock.Within(t.Context(), dir, 0); !errors.Is(err, flock.ErrHeld) {
		t.Errorf("two have it: %v", err)
	} else {
		f.Close()
	}
	select {
	case err := <-second:
		t.Fatal("two have it: ", err)
	default:
	}
	stdin.Close()
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := <-second; err != nil {
		t.Error(err)
	}
	if _, err := flock.Dir(dir + "/none"); err == nil {
		t.Error("a directory that is not there has a lock")
	}
}

// Temp removes what nobody uses, and nothing else: not what is in use, by a child
// even, not a link, not a file.
func TestTemp(t *testing.T) {
	parent := t.TempDir()
	used, lock, err := flock.Temp(parent, "x-", os.RemoveAll)
	if err != nil {
		t.Fatal(err)
	}
	dead, gone, err := flock.Temp(parent, "x-", os.RemoveAll)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command("cat")
	child.ExtraFiles = []*os.File{lock}
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lock.Close()
	gone.Close() // as a kill does
	other := t.TempDir()
	if err := errors.Join(os.Symlink(other, parent+"/x-link"), os.WriteFile(parent+"/x-file", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := flock.Sweep(parent, "x-", os.RemoveAll); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{used: true, dead: false, other: true, parent + "/x-link": true, parent + "/x-file": true} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %t", path, err, want)
		}
	}
	stdin.Close()
	child.Wait()
	if err := flock.Sweep(parent, "x-", os.RemoveAll); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(used); err == nil {
		t.Error("what nobody uses any more stays")
	}
}
