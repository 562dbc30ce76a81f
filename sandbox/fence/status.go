package fence

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"git-ward/internal/diag"
)

// MayAsk is an error for who may not know what runs on a repository: the launch lock is its
// owner's, and what cannot be opened is not free.
func MayAsk(bare string) error {
	f, err := os.Open(filepath.Join(bare, lockPath))
	if errors.Is(err, fs.ErrPermission) {
		return diag.Hint(fmt.Errorf("you may not know what runs on %s: %w", bare, err), "ask as the repository's owner")
	}
	if err == nil {
		f.Close()
	}
	return nil
}

// Running says whether a launcher works on a repository, which its lock decides, and which
// process it is: 0 for one that cannot be seen from here.
func Running(bare string) (pid int, running bool) {
	pid, _, running = look(bare)
	return pid, running
}

// Up says whether the launcher that works on a repository has its payload running.
func Up(bare string) bool {
	_, up, running := look(bare)
	return running && up
}

func look(bare string) (pid int, up, running bool) {
	f, err := os.Open(filepath.Join(bare, lockPath))
	if err != nil {
		return 0, false, false
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); err == nil {
		return 0, false, false // nobody holds it
	}
	_, _, up = lockContent(f)
	return holder(f), up, true
}

// holder is the process that a lock's file names, if that has the file open, and 0 if not:
// in another PID namespace the number is another's, and what stands in the file of a killed
// launcher, whose lock some other program holds, is anybody's by now.
func holder(lock *os.File) int {
	pid, _, _ := lockContent(lock)
	info, err := lock.Stat()
	if pid <= 0 || err != nil {
		return 0
	}
	open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, path := range open {
		if pid == os.Getpid() && filepath.Base(path) == strconv.Itoa(int(lock.Fd())) {
			continue // by which this process asks
		}
		if its, err := os.Stat(path); err == nil && os.SameFile(info, its) {
			return pid
		}
	}
	return 0
}

// LauncherText names the launcher on a repository, of a number as Running has it.
func LauncherText(bare string, pid int) string {
	if pid == 0 {
		return fmt.Sprintf("a launcher, whose process cannot be seen from here, runs on %s (or another program holds %s)", bare, lockPath)
	}
	return fmt.Sprintf("the launcher, process %d, runs on %s", pid, bare)
}

// End asks the launcher on a repository to end, of a number as Running has it.
func End(bare string, pid int) error {
	if pid == 0 {
		return diag.Hint(errors.New(LauncherText(bare, pid)), "stop it where it was started, such as in its container, or end what else holds %s", filepath.Join(bare, lockPath))
	}
	p, err := os.FindProcess(pid) // a handle: the number cannot pass to a stranger any more
	if err != nil {
		return err
	}
	defer p.Release()
	if now, running := Running(bare); !running || now != pid {
		return nil // it has ended
	}
	if err := p.Signal(unix.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	return nil
}
