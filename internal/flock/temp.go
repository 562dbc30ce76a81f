package flock

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Temp makes a directory of this process's own in parent (empty: the machine's
// temporary directory), named prefix and a random rest, and holds its lock: it is
// in use for as long as the file is open here or in a child. Others of the prefix
// that nobody uses, because their makers were killed, are removed first.
func Temp(parent, prefix string, remove func(dir string) error) (dir string, lock *os.File, err error) {
	if parent == "" {
		parent = os.TempDir()
	}
	if err := Sweep(parent, prefix, remove); err != nil {
		return "", nil, err
	}
	for {
		if dir, err = os.MkdirTemp(parent, prefix); err != nil {
			return "", nil, err
		}
		lock, err = Dir(dir)
		if err == nil && stillThere(dir, lock) {
			return dir, lock, nil
		}
		if lock != nil {
			lock.Close()
		}
		// A sweep may have come between the making and the locking: once more.
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", nil, err
		}
	}
}

// stillThere tells whether a path names the file that is open.
func stillThere(path string, f *os.File) bool {
	now, err := os.Lstat(path)
	was, wasErr := f.Stat()
	return err == nil && wasErr == nil && os.SameFile(now, was)
}

// Sweep removes the directories that Temp made for this user and that nobody uses.
func Sweep(parent, prefix string, remove func(dir string) error) error {
	dirs, err := filepath.Glob(filepath.Join(parent, prefix+"*"))
	for _, dir := range dirs {
		// Not through a link, and nothing of another user's.
		fd, openErr := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if openErr != nil {
			continue
		}
		var st unix.Stat_t
		mine := unix.Fstat(fd, &st) == nil && st.Uid == uint32(os.Geteuid())
		if mine && unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil {
			err = errors.Join(err, remove(dir))
		}
		unix.Close(fd)
	}
	return err
}
