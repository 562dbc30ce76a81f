// Package flock gives one process at a time the lock of a file or directory. The kernel
// releases it when the process dies.
package flock

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Dir waits for the lock of a directory. Closing the result releases it. If children inherit
// it (exec.Cmd.ExtraFiles), the lock is free once the last of them has ended, too.
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
