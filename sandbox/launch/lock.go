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

// lockGate takes the directory of a repository in which its state is, for one launch at a time,
// whatever their own directories and users are. It is the directory itself, which only its owner
// can open: the launch lock's file has an inode of its own where somebody removed it as stale, or
// put a backup's in its place. A copy of the repository has another directory.
func lockGate(bare string) (*os.File, error) {
	f, err := os.Open(filepath.Dir(filepath.Join(bare, runstate.LockPath)))
	if err != nil {
		return nil, err
	}
	if err = tryLock(f); err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		pid, _ := runstate.Running(bare)
		return nil, another(bare, f.Name(), pid)
	}
	return nil, &os.PathError{Op: "flock", Path: f.Name(), Err: err}
}

// placeEvery is how often a launch looks whether its repository is where it was. The kernel tells
// nobody that a directory far above was renamed, and two looks cost two system calls.
const placeEvery = time.Second

// stays ends where the directory that a launch holds is not at its path any more, such as when a
// backup was put there: all that a launch starts works by the path, and another launch may have
// that one.
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
		if errors.Is(err, os.ErrNotExist) || err == nil && !os.SameFile(held, now) { // any other error may pass
			return diag.Hint(fmt.Errorf("%s is not the directory any more that this launch began with", gate.Name()),
				"the repository was moved or replaced: launch again")
		}
	}
}

// another is the error of a launcher that has what a second one wants; its process is 0 where it
// cannot be seen.
func another(bare, path string, pid int) error {
	if pid == 0 {
		return diag.Hint(errors.New(runstate.LauncherText(bare, pid)), "stop it where it was started, or end what else holds %s", path)
	}
	return diag.Hint(fmt.Errorf("another launcher, process %d, works on %s", pid, bare), "`git ward launch --stop --bare %s` ends it and its agent", bare)
}

// acquire takes the repository's launch lock, which the kernel frees with the
// launcher. It is not inherited by children (O_CLOEXEC). In it stand the process
// and the directory of its sockets, with its identity; that of a launcher that was killed is
// removed, if it has that and nobody works in it: in a copy of the repository stands the
// original's.
func acquire(bare string) (*os.File, error) {
	path := filepath.Join(bare, runstate.LockPath)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	err = tryLock(f)
	last := runstate.ReadLock(f)
	if errors.Is(err, unix.EWOULDBLOCK) {
		pid := runstate.Holder(f)
		f.Close()
		return nil, another(bare, path, pid)
	}
	if err == nil {
		err = scratch.Reclaim(last.Scratch, last.ID)
	}
	if err == nil {
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

// lockPatience is how long acquire tries: whoever asks whether a launcher works on the
// repository (runstate.Running) has the lock for a moment, too.
const lockPatience = 200 * time.Millisecond

// tryLock takes a file's lock; somebody else's is EWOULDBLOCK. The file is its owner's
// alone (0600), because who can open it can lock it.
func tryLock(f *os.File) error {
	for end := time.Now().Add(lockPatience); ; {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(end) {
			return err
		}
		time.Sleep(5 * time.Millisecond) // the kernel tells nobody who does not block for it
	}
}

// tellUp writes down that the payload runs; nothing is decided by it but when a launcher in
// the background is said to be launched.
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

// removeScratch removes a launch's directory, and its name from the lock, where that of a
// killed launcher stays.
func removeScratch(lock *os.File, dir *scratch.Dir) error {
	return errors.Join(dir.Remove(), lock.Truncate(int64(len(fmt.Appendln(nil, os.Getpid())))))
}

// makeScratch makes a directory for the sockets of one launch below dir, which may be
// empty for the temporary directory, and writes it down in the lock.
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
