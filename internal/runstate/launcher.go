// Package runstate is what a launch keeps below a repository's ward/ for those who look:
// which launcher works there and since when, the verdict it is at, what providers fail, what
// was spent, and what people should know. Everybody may read it who may read the repository;
// nothing is decided by it, and no podman and no gateway is linked for it.
package runstate

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/diag"
)

// LockPath is the launch lock's below the repository: whoever holds it is the launcher.
const LockPath = "ward/launch.lock"

// upLine is the lock's third line once the payload runs.
const upLine = "up"

// Launcher is what the launch lock's file says, line by line.
type Launcher struct {
	PID     int
	Scratch string    // the directory of its sockets; "" before it is made, and once it is removed
	Up      bool      // the payload runs
	Since   time.Time // when it began; zero where that is not said
	ID      string    // of that directory (internal/scratch)
}

// Text is a launcher as it stands in the lock.
func (l Launcher) Text() []byte {
	up := ""
	if l.Up {
		up = upLine
	}
	return fmt.Appendf(nil, "%d\n%s\n%s\n%s\n%s\n", l.PID, l.Scratch, up, l.Since.UTC().Format(time.RFC3339), l.ID)
}

// ReadLock reads a lock's file, whoever holds it; what it does not say is zero.
func ReadLock(f *os.File) (l Launcher) {
	data, _ := io.ReadAll(io.NewSectionReader(f, 0, 4<<10))
	lines := strings.Split(string(data)+"\n\n\n\n\n", "\n")
	l.PID, _ = strconv.Atoi(lines[0])
	l.Scratch, l.Up = lines[1], lines[2] == upLine
	l.Since, _ = time.Parse(time.RFC3339, lines[3])
	l.ID = lines[4]
	return l
}

// MayAsk is an error for who may not know what runs on a repository: the launch lock is its
// owner's, and what cannot be opened is not free.
func MayAsk(bare string) error {
	f, err := os.Open(filepath.Join(bare, LockPath))
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
	l, running := Now(bare)
	return l.PID, running
}

// Up says whether the launcher that works on a repository has its payload running.
func Up(bare string) bool {
	l, running := Now(bare)
	return running && l.Up
}

// Now is the launcher that works on a repository; its PID is 0 where it cannot be seen
// from here.
func Now(bare string) (l Launcher, running bool) {
	f, err := os.Open(filepath.Join(bare, LockPath))
	if err != nil {
		return l, false
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); err == nil {
		return l, false // nobody holds it
	}
	l = ReadLock(f)
	l.PID = Holder(f)
	return l, true
}

// Holder is the process that a lock's file names, if that has the file open, and 0 if not:
// in another PID namespace the number is another's, and what stands in the file of a killed
// launcher, whose lock some other program holds, is anybody's by now.
func Holder(lock *os.File) int {
	pid := ReadLock(lock).PID
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
		return fmt.Sprintf("a launcher, whose process cannot be seen from here, runs on %s (or another program holds %s)", bare, LockPath)
	}
	return fmt.Sprintf("the launcher, process %d, runs on %s", pid, bare)
}
