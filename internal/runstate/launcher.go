// Package runstate has the files that a launch keeps below a repository's ward/ for people who
// watch: which launcher runs and since when, running verdicts, failing providers, costs, and
// warnings. Everybody who may read the repository may read them, and nothing is decided by
// them. The package links neither podman nor the gateway.
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

// LockPath is the launcher's file, relative to the repository: the launcher names itself there, and
// has it open.
const LockPath = "ward/launch.lock"

// Gate is the directory that a launcher of a repository locks. Whoever deletes or replaces a
// file in it does not take the lock from the launcher.
func Gate(bare string) string { return filepath.Join(bare, filepath.Dir(LockPath)) }

// upLine is the lock's third line once the payload runs.
const upLine = "up"

// Launcher is the content of the launch lock's file, line by line.
type Launcher struct {
	PID     int
	Scratch string    // the directory of its sockets; "" before it is made, and once it is removed
	Up      bool      // the payload runs
	Since   time.Time // when it began; zero where that is not said
	ID      string    // of that directory (internal/scratch)
}

// Text formats a launcher for the lock's file.
func (l Launcher) Text() []byte {
	up := ""
	if l.Up {
		up = upLine
	}
	return fmt.Appendf(nil, "%d\n%s\n%s\n%s\n%s\n", l.PID, l.Scratch, up, l.Since.UTC().Format(time.RFC3339), l.ID)
}

// ReadLock reads a lock's file, whether it is held or not. Missing lines are zero.
func ReadLock(f *os.File) (l Launcher) {
	data, _ := io.ReadAll(io.NewSectionReader(f, 0, 4<<10))
	lines := strings.Split(string(data)+"\n\n\n\n\n", "\n")
	l.PID, _ = strconv.Atoi(lines[0])
	l.Scratch, l.Up = lines[1], lines[2] == upLine
	l.Since, _ = time.Parse(time.RFC3339, lines[3])
	l.ID = lines[4]
	return l
}

// MayAsk returns an error if the caller may not open the launch lock, which belongs to the
// repository's owner. A lock that cannot be opened does not count as free.
func MayAsk(bare string) error {
	f, err := os.Open(filepath.Join(bare, LockPath))
	if errors.Is(err, fs.ErrPermission) {
		return diag.Hint(fmt.Errorf("you are not allowed to see what runs on %s: %w", bare, err), "ask as the repository's owner")
	}
	if err == nil {
		f.Close()
	}
	return nil
}

// Running reports whether a launcher holds a repository's lock, and its process id, 0 if the
// process is not visible from here.
func Running(bare string) (pid int, running bool) {
	l, running := Now(bare)
	return l.PID, running
}

// Up reports whether the repository's launcher has its payload running.
func Up(bare string) bool {
	l, running := Now(bare)
	return running && l.Up
}

// Now returns the repository's launcher. Its PID is 0 if it is not visible from here, or if
// somebody has deleted or replaced its file.
func Now(bare string) (l Launcher, running bool) {
	gate, err := os.Open(Gate(bare))
	if err != nil {
		return l, false
	}
	defer gate.Close()
	if err := unix.Flock(int(gate.Fd()), unix.LOCK_SH|unix.LOCK_NB); err == nil {
		return l, false // nobody holds it
	}
	f, err := os.Open(filepath.Join(bare, LockPath))
	if err != nil {
		return l, true
	}
	defer f.Close()
	l = ReadLock(f)
	l.PID = Holder(f)
	return l, true
}

// Holder is the process that a lock's file names, if it has the file open, else 0. The number
// alone proves nothing: in another PID namespace it means another process, and after a kill it
// may have been reused.
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

// LauncherText describes the launcher on a repository by the process id from Running.
func LauncherText(bare string, pid int) string {
	if pid == 0 {
		return fmt.Sprintf("a launcher, whose process cannot be seen from here, runs on %s (or another program has locked %s)", bare, Gate(bare))
	}
	return fmt.Sprintf("the launcher, process %d, runs on %s", pid, bare)
}
