package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/runstate"
	"git-ward/internal/scratch"

	"golang.org/x/sys/unix"
)

// lockGate locks the directory of a repository's state for one launch at a time, across users
// and state directories. The lock is on the directory itself, which only its owner can open;
// the launch lock's file could have been removed as stale or replaced from a backup. A copy of
// the repository has another directory.
func lockGate(ctx context.Context, bare string) (*os.File, error) {
	f, err := os.Open(runstate.Gate(bare))
	if err != nil {
		return nil, err
	}
	if err = tryLock(ctx, f); err == nil {
		return f, nil
	}
	f.Close()
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		pid, _ := runstate.Running(bare)
		return nil, another(bare, f.Name(), pid)
	case ctx.Err() != nil:
		return nil, err
	}
	return nil, &os.PathError{Op: "flock", Path: f.Name(), Err: err}
}

// placeEvery is how often a launch checks that its repository has not moved. Nothing reports
// that a directory far above was renamed; a check costs two system calls.
const placeEvery = time.Second

// stays ends when the directory that a launch has locked is no longer at its path, for
// instance because a backup was restored there. Everything that a launch starts uses the path,
// which may then be another launch's.
func stays(ctx context.Context, gate *os.File) error {
	held, err := gate.Stat()
	if err != nil {
		return err
	}
	look := time.NewTicker(placeEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
		now, err := os.Stat(gate.Name())
		if errors.Is(err, os.ErrNotExist) || err == nil && !os.SameFile(held, now) { // other errors may pass
			return diag.Hint(fmt.Errorf("%s is no longer the directory with which this launch began", gate.Name()),
				"the repository was moved or replaced: launch again")
		}
	}
}

// another is the error for a second launcher; its process is 0 if it cannot be found out.
func another(bare, path string, pid int) error {
	if pid == 0 {
		return diag.Hint(errors.New(runstate.LauncherText(bare, pid)), "stop it where it was started, or end what else has locked %s", path)
	}
	return diag.Hint(fmt.Errorf("another launcher, process %d, works on %s", pid, bare), "`git ward launch --stop --bare %s` ends it and its agent", diag.Word(bare))
}

// acquire writes the launcher's file and keeps it open, so that the process that it names can be
// told from another with its number. Call it with the gate's lock. The file names the process, and
// its socket directory with that directory's identity. A killed launcher's directory is removed if it
// has that identity and nobody uses it: in a copy of the repository the file names the original's.
func acquire(bare string) (*os.File, error) {
	path := filepath.Join(bare, runstate.LockPath)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	last := runstate.ReadLock(f)
	if err = scratch.Reclaim(last.Scratch, last.ID); err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(fmt.Appendln(nil, os.Getpid()), 0)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// lockGate tries for lockPatience while another process has the lock alone: a launch that has just
// ended may be forking still. It tries for askPatience while others share the lock: whoever only
// asks (runstate.Now) does so for a moment, unless he is stopped.
const (
	lockPatience = 200 * time.Millisecond
	askPatience  = 10 * time.Second
)

// tryLock takes the lock of a directory that only its owner can open, because whoever can open it
// can lock it. If another process has the lock, the error is EWOULDBLOCK.
func tryLock(ctx context.Context, f *os.File) error {
	for began := time.Now(); ; {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		patience := lockPatience
		if unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil {
			unix.Flock(int(f.Fd()), unix.LOCK_UN)
			patience = askPatience
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case time.Since(began) > patience:
			return err
		}
		time.Sleep(5 * time.Millisecond) // a non-blocking lock is not announced when free
	}
}

// tellUp records that the payload runs; only a detaching launcher reads it, to report success.
func (l *launch) tellUp() {
	if l.lock == nil { // the repository is on another machine
		return
	}
	now := runstate.ReadLock(l.lock)
	now.Up = true
	if _, err := l.lock.WriteAt(now.Text(), 0); err != nil {
		l.log.Warn().Err(err).Msg("the launch lock does not say that the payload runs")
	}
}

// removeScratch removes a launch's directory and its name in the lock file, where a killed
// launcher's would remain.
func removeScratch(lock *os.File, dir *scratch.Dir) error {
	return errors.Join(dir.Remove(), lock.Truncate(int64(len(fmt.Appendln(nil, os.Getpid())))))
}

// makeScratch makes a directory for one launch's sockets below dir, or below the temporary
// directory if dir is empty, and records it in the lock file.
func makeScratch(lock *os.File, dir string) (*scratch.Dir, error) {
	made, err := scratch.Make(dir, "")
	if err != nil {
		return nil, err
	}
	now := runstate.Launcher{PID: os.Getpid(), Scratch: made.Path, ID: made.ID, Since: time.Now()}
	if _, err := lock.WriteAt(now.Text(), 0); err != nil {
		return nil, errors.Join(err, made.Remove())
	}
	return made, nil
}
