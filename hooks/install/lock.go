package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/flock"
)

// patience is how long a run waits for another one, which takes a second or two.
const patience = 30 * time.Second

// lockDir excludes a second run of init or its removal: each would take the other's half-done
// work for the earlier state. The lock is the kernel's on the directory itself, so it leaves
// no file.
func lockDir(ctx context.Context, dir string) (*os.File, error) {
	held, err := flock.Within(ctx, dir, flock.Exclusive, patience)
	if errors.Is(err, flock.ErrHeld) {
		held.Close()
		return nil, diag.Hint(fmt.Errorf("another git ward init works on %s", dir), "wait for it, or see who holds the directory: fuser -v %s", dir)
	}
	return held, err
}

// lock is lockDir for a run that may create the directory. A directory made for it is removed
// if it stays empty.
func (in *installer) lock(ctx context.Context) (unlock func(), err error) {
	nothing := func() {}
	if in.DryRun {
		return nothing, nil
	}
	_, err = os.Stat(in.Dir)
	made := errors.Is(err, fs.ErrNotExist)
	if made {
		if err := os.MkdirAll(in.Dir, 0o777); err != nil {
			return nil, err
		}
	}
	held, err := lockDir(ctx, in.Dir)
	if errors.Is(err, fs.ErrPermission) {
		return nothing, nil // somebody else's, which examine refuses
	}
	if err != nil {
		return nil, err
	}
	return func() {
		if made {
			os.Remove(in.Dir) // only an empty one can be
		}
		held.Close()
	}, nil
}
