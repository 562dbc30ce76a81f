package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/flock"
)

// lockPatience is how long Lock tries. A child of a killed agent may hold the lock until its
// exec.
const lockPatience = 2 * time.Second

// Lock takes the lock on a state directory (BOOT-5) and returns what gives it up.
// It belongs to the open file: it ends with the process, however that ends. The
// file's text only says who holds it.
func Lock(ctx context.Context, state string) (release func(), err error) {
	if err := os.MkdirAll(state, 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(state, "agent.lock")
	f, err := flock.File(ctx, path, lockPatience)
	if errors.Is(err, flock.ErrHeld) {
		defer f.Close()
		holder, _ := io.ReadAll(io.LimitReader(f, 200))
		err = fmt.Errorf("another agent works in %s: %s", state, strings.TrimSpace(string(holder)))
		return nil, diag.Hint(err, "one agent at a time: stop that one, or give this one another --state")
	}
	if err != nil {
		return nil, err
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = fmt.Fprintf(f, "process %d, since %s\n", os.Getpid(), time.Now().UTC().Format(time.RFC3339))
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return func() { f.Close() }, nil
}
