package audit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/protocols/lesson"
	"git-ward/protocols/state"
)

// lockPatience is the longest wait for other writers. Each takes milliseconds; one that was
// stopped must not stop everybody.
const lockPatience = 20 * time.Second

// lock takes the writers' lock, which the kernel releases with the process. The kernel grants
// it in order of request, so it is requested once, by a goroutine that is abandoned after
// lockPatience.
func (w *Writer) lock(ctx context.Context) (*os.File, error) {
	dir := filepath.Join(w.repo.Dir, "ward")
	f, err := os.OpenFile(filepath.Join(dir, "audit.lock"), os.O_CREATE|os.O_RDWR, ownMode)
	if err != nil {
		return nil, err
	}
	if mode := fileMode(dir); mode != ownMode {
		f.Chmod(mode) // only its maker may, and need
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		return f, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	locked := make(chan error)
	go func() {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		for errors.Is(err, unix.EINTR) {
			err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		}
		select {
		case locked <- err:
		case <-ctx.Done():
			f.Close() // and with it the lock
		}
	}()
	select {
	case err := <-locked:
		if err != nil {
			f.Close()
			return nil, err
		}
		return f, nil
	case <-ctx.Done():
		return nil, errors.New("another process holds ward/audit.lock, and does not let go")
	}
}

// lockedOut reports whether git's lock file exists for a ref of the audit: Ward's writers are
// kept out by their own lock.
func (w *Writer) lockedOut() bool {
	return w.repo.LockedOut(state.AuditRef, state.AuditNotes, lesson.Ref)
}
