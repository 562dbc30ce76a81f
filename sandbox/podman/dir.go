package podman

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/diag"
)

// dirPrefix begins the name of an engine's directory in the temporary directory. Unix socket
// paths are short (108 bytes), so it is, too.
const dirPrefix = "ward-podman-"

// lockName is a file in it that the launcher and its reaper have locked: the kernel frees it
// when both are gone, and then the directory is nobody's.
const lockName = "lock"

// makeDir makes an engine's directory, which is its user's alone, and locks it.
func makeDir() (dir string, lock *os.File, err error) {
	if dir, err = os.MkdirTemp("", dirPrefix); err != nil {
		return "", nil, err
	}
	if lock, err = os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600); err != nil {
		return "", nil, errors.Join(err, os.Remove(dir))
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return "", nil, diag.Hint(errors.Join(err, lock.Close()), "another launch took %s for a dead one's; launch again", dir)
	}
	return dir, lock, nil
}

// unlockedFor is how old a directory without a lock is before it is nobody's: one that is just
// being made has none yet.
const unlockedFor = time.Hour

// removeStale removes the directories of this user's engines whose launcher and reaper were
// both killed.
func removeStale(base string) {
	found, _ := filepath.Glob(filepath.Join(base, dirPrefix+"*"))
	for _, dir := range found {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Geteuid()) {
			continue
		}
		lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|syscall.O_NOFOLLOW, 0)
		switch {
		case errors.Is(err, fs.ErrNotExist) && time.Since(info.ModTime()) > unlockedFor:
			os.RemoveAll(dir)
		case err == nil:
			if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
				os.RemoveAll(dir)
			}
			lock.Close()
		}
	}
}
