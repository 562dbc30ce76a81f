package flock_test

import (
	"os/exec"
	"testing"
	"time"

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
	child := exec.Command("sleep", "0.4")
	child.ExtraFiles = append(child.ExtraFiles, first)
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	first.Close()
	select {
	case err := <-second:
		t.Fatal("two have it: ", err)
	case <-time.After(100 * time.Millisecond):
	}
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
