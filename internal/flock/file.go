package flock

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ErrHeld is the error of a lock that another process has.
var ErrHeld = errors.New("another process holds the lock")

// File opens a file, which it makes, and tries for its lock: at least once, and for as
// long as patience, or until the context ends. A link is not followed. Closing the
// file lets go. Somebody else's lock is ErrHeld; the file is returned then, too, so
// that what it says of its holder can be read.
func File(ctx context.Context, path string, patience time.Duration) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return nil, err
	}
	return lock(ctx, f, unix.LOCK_EX, patience)
}

// Kind is who may have a lock at a time: one, or many that share it.
type Kind int

// The kinds of a lock.
const (
	Exclusive Kind = unix.LOCK_EX
	Shared    Kind = unix.LOCK_SH
)

// Any is File for a lock of either kind, of a file that every user of its directory may
// lock, whoever made it. Somebody else's lock is ErrHeld, without a file.
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

// Within is File for a lock of either kind, of what is there already, such as a directory.
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
