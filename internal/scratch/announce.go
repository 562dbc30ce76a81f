package scratch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"git-ward/internal/failpoint"
)

// A maker may be killed between the making of a directory and of the mark in it. So it makes
// the mark first, beside the directory, and who removes the directory removes the mark last.
// An empty directory is Ward's if it has such a mark and no process holds the mark's lock.

// beside is the name of a mark that is next to its directory, not in it.
func beside(name string) string { return name + ".mark" }

// announce creates a mark next to a name, complete and locked from its first moment if the
// file system has unnamed files (O_TMPFILE).
func announce(parent *os.Root, name, id string) (lock *os.File, err error) {
	text, err := json.Marshal(mark{ID: id, Name: name})
	if err != nil {
		return nil, err
	}
	dir, err := parent.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	fd, err := unix.Openat(int(dir.Fd()), ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	nameless := err == nil
	switch {
	case nameless:
		lock = os.NewFile(uintptr(fd), filepath.Join(parent.Name(), beside(name)))
	case errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR):
		lock, err = parent.OpenFile(beside(name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	default:
		err = &os.PathError{Op: "open", Path: parent.Name(), Err: err}
	}
	if err != nil {
		return nil, err
	}
	if err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
		_, err = lock.Write(text)
	}
	if err == nil && nameless {
		err = unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), int(dir.Fd()), beside(name), unix.AT_SYMLINK_FOLLOW)
	}
	if err != nil {
		return nil, errors.Join(&os.PathError{Op: "make", Path: lock.Name(), Err: err}, lock.Close())
	}
	return lock, nil
}

// finish removes a mark whose maker is gone, and its directory if that is empty: one with
// files has a mark of its own, or is a person's.
func finish(parent *os.Root, name string) error {
	lock, err := parent.OpenFile(name, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil // its maker removed it, or it may not be read
	}
	defer lock.Close()
	info, err := lock.Stat()
	if err != nil || !info.Mode().IsRegular() || owner(info) != os.Geteuid() {
		return nil
	}
	m, err := read(lock)
	if err != nil || beside(m.Name) != name || m.ID == "" || unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return nil
	}
	if now, err := parent.Lstat(name); err != nil || !os.SameFile(info, now) {
		return nil
	}
	dir, err := parent.Lstat(m.Name)
	if err == nil && dir.IsDir() && owner(dir) == os.Geteuid() {
		if err := unix.Rmdir(filepath.Join(parent.Name(), m.Name)); err != nil && !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return ignore(parent.Remove(name))
}

// takeIn creates a directory with the announced mark.
func (d *Dir) takeIn(parent *os.Root, name string) error {
	if err := parent.Mkdir(name, 0o700); err != nil {
		return err
	}
	failpoint.Reach("scratch/made")
	info, err := parent.Lstat(name)
	if err != nil {
		return err
	}
	text, err := json.Marshal(mark{ID: d.ID, Name: name, Inode: inode(info)})
	if err == nil {
		_, err = d.Lock.WriteAt(text, 0) // longer than what was there
	}
	if err == nil {
		err = parent.Link(beside(name), filepath.Join(name, markName))
	}
	if err != nil {
		return errors.Join(err, parent.Remove(name))
	}
	failpoint.Reach("scratch/marked")
	return nil
}

// putOut removes an empty directory, and its mark last.
func putOut(parent, dir *os.Root, name string) error {
	if err := ignore(parent.Remove(beside(name))); err != nil { // of a maker that was killed: to rename one name of a file to another does nothing
		return err
	}
	err := parent.Rename(filepath.Join(name, markName), beside(name))
	if errors.Is(err, unix.EXDEV) { // something is mounted there
		return errors.Join(ignore(dir.Remove(markName)), ignore(parent.Remove(name)))
	}
	if err != nil {
		return ignore(err)
	}
	failpoint.Reach("scratch/unmarked")
	return errors.Join(ignore(parent.Remove(name)), ignore(parent.Remove(beside(name))))
}

func announced(name string) bool { return strings.HasSuffix(name, beside("")) }
