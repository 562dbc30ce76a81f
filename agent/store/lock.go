package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"git-ward/internal/diag"

	"golang.org/x/sys/unix"
)

// lockPatience is how long Lock tries. A child that a killed agent was just about
// to start holds the lock until it gets to its exec.
const lockPatience = 2 * time.Second

// Lock takes the lock on a state directory (BOOT-5) and returns what gives it up.
// It belongs to the open file: it ends with the process, however that ends. The
// file's text only says who holds it.
func Lock(state string) (release func(), err error) {
	if err := os.MkdirAll(state, 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(state, "agent.lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	err = tryLock(f)
	if errors.Is(err, unix.EWOULDBLOCK) {
		defer f.Close()
		holder, _ := io.ReadAll(io.LimitReader(f, 200))
		err = fmt.Errorf("another agent works in %s: %s", state, strings.TrimSpace(string(holder)))
		return nil, diag.Hint(err, "one agent at a time: stop that one, or give this one another --state")
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = fmt.Fprintf(f, "process %d, since %s\n", os.Getpid(), time.Now().UTC().Format(time.RFC3339))
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return func() { f.Close() }, nil
}

func tryLock(f *os.File) error {
	for end := time.Now().Add(lockPatience); ; time.Sleep(20 * time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(end) {
			return err
		}
	}
}
