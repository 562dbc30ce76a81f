package flock_test

import (
	"errors"
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
	if f, err := flock.Within(t.Context(), dir, flock.Exclusive, 0); !errors.Is(err, flock.ErrHeld) {
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
