package fence

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

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
