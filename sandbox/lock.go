package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"git-ward/internal/cli"
)

// acquire takes the repository's launch lock, which the kernel frees with the
// launcher. It is not inherited by children (O_CLOEXEC).
func acquire(bare string) (*os.File, error) {
	path := filepath.Join(bare, "ward/launch.lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		var pid int
		fmt.Fscan(f, &pid)
		f.Close()
		return nil, cli.Hint(fmt.Errorf("another launcher, process %d, works on %s", pid, bare), "`git ward launch stop --bare %s` ends it and its agent", bare)
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = fmt.Fprintln(f, os.Getpid())
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}
