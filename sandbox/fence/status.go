package fence

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Running says whether a launcher works on a repository, and which process it is.
func Running(bare string) (pid int, running bool) {
	f, err := os.Open(filepath.Join(bare, lockPath))
	if err != nil {
		return 0, false
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); err == nil {
		return 0, false // nobody holds it
	}
	pid, _ = lockContent(f)
	return pid, pid != 0
}
