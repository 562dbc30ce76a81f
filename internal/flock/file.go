package flock

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ErrHeld means that another process has the lock.
var ErrHeld = errors.New("another process holds the lock")

// File opens or creates a file and tries to lock it: at least once, and until patience or the
// context ends. It follows no link. Closing the file releases the lock. If another process has
// the lock, the error is ErrHeld, and the file is returned as well, so that the caller can
// read what it says about the holder.
func File(ctx context.Context, path string, patience time.Duration) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return nil, err
	}
	return lock(ctx, f, unix.LOCK_EX, patience)
}

// Kind says whether a lock is exclusive or shared.
type Kind int

// The kinds of a lock.
const (
	Exclusive Kind = unix.LOCK_EX
	Shared    Kind = unix.LOCK_SH
)

// Any is File for a lock of either kind, on a file that every user of its directory may lock,
// whoever created it. With ErrHeld it returns no file.
func Any(ctx context.Context, path string, kind Kind, patience time.Duration) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return nil, err
	}
	f.Chmod(0o644) // only its maker may, and need, whatever the umask is
	held, err := lock(ctx, f, int(kind), patience)
	if errors.Is(err, ErrHeld) {
		held.Close()
		return nil, ErrHeld
	}
	return held, err
}

// Within is File for a lock of either kind, on an existing file or directory.
func Within(ctx context.Context, path string, kind Kind, patience time.Duration) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return lock(ctx, f, int(kind), patience)
}

func lock(ctx context.Context, f *os.File, how int, patience time.Duration) (*os.File, error) {
	end := time.Now().Add(patience)
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch held := errors.Is(err, unix.EWOULDBLOCK); {
		case err == nil:
			return f, nil
		case held && time.Now().After(end):
			return f, ErrHeld
		case ctx.Err() != nil:
			f.Close()
			return nil, ctx.Err()
		case !held && !errors.Is(err, unix.EINTR):
			f.Close()
			return nil, &os.PathError{Op: "flock", Path: f.Name(), Err: err}
		}
		time.Sleep(20 * time.Millisecond) // the kernel tells nobody that a lock is free but who blocks for it
	}
}
