// Package flock lets one process at a time work on what lies in a directory. The
// kernel keeps the lock, so that none outlives a process that is killed.
package flock

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Dir waits for the lock of a directory and returns it; closing it lets go. Where
// children inherit it (exec.Cmd.ExtraFiles), it is free when the last of them has
// ended, too.
func Dir(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	for {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s cannot be locked: %w", path, err)
	}
	return f, nil
}
