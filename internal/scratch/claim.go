package scratch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// ownName is the mark of a directory that stays, and that is Ward's all the same: what lies
// in it is made anew, and removed, as those who work in it see fit.
const ownName = ".ward-own"

// Claim takes a directory for Ward alone until the returned file is closed. Ward must have
// made it or found it empty, and nobody else may be working in it. With adopt, a directory
// without a mark is taken, too, if Ward itself chose the path; a path through a link was
// chosen by somebody else.
func Claim(dir string, adopt bool) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if named, err := os.Lstat(dir); err != nil {
		return nil, err
	} else if !named.IsDir() {
		adopt = false
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	// A mark of no bytes, which a full disk leaves in an empty directory, says nothing of what
	// is there now.
	own := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ownName })
	others, marked := len(entries), false
	if own >= 0 {
		info, err := entries[own].Info()
		others, marked = others-1, err == nil && info.Size() > 0
	}
	if !marked && others > 0 && !adopt {
		return nil, fmt.Errorf("%s is not empty, and Ward did not make it: what is in it would be removed", dir)
	}
	f, err := root.OpenFile(ownName, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	if err := mine(f, dir, info, adopt); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// mine takes the lock, and reads the mark or writes it.
func mine(f *os.File, dir string, info fs.FileInfo, adopt bool) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("another launch works in %s", dir)
	}
	if err != nil {
		return &os.PathError{Op: "flock", Path: f.Name(), Err: err}
	}
	text, err := io.ReadAll(io.LimitReader(f, maxMark))
	if err != nil {
		return err
	}
	var m mark
	switch fault := json.Unmarshal(text, &m); {
	case len(text) > 0 && fault == nil && m.Inode == inode(info):
		return nil
	case len(text) > 0 && !adopt:
		return fmt.Errorf("%s is a copy of another launch's directory", dir)
	}
	if text, err = json.Marshal(mark{Inode: inode(info)}); err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(text, 0)
	return err
}

// RemoveOwn removes a directory that Claim took, with its content. A directory that Ward did
// not make, a copy of one, or one in use stays, and the error says so.
func RemoveOwn(dir string) error {
	dir = filepath.Clean(dir)
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	name := filepath.Base(dir)
	named, err := parent.Lstat(name)
	if err != nil {
		return err
	}
	if !named.IsDir() || owner(named) != os.Geteuid() {
		return fmt.Errorf("%s is a link, or another user's, so it stays", dir)
	}
	root, err := parent.OpenRoot(name)
	if err != nil {
		return err
	}
	defer root.Close()
	lock, err := root.OpenFile(ownName, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("%s has no mark of Ward's, so it stays: %w", dir, err)
	}
	defer lock.Close()
	if info, err := root.Lstat("."); err != nil || !os.SameFile(info, named) {
		return fmt.Errorf("%s was changed meanwhile, so it stays", dir)
	}
	m, err := read(lock)
	switch {
	case err != nil || m.Inode != inode(named):
		return fmt.Errorf("the mark in %s is of another directory, so it stays", dir)
	case unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil:
		return fmt.Errorf("somebody works in %s: end that first", dir)
	}
	if err := empty(root, dir, ownName); err != nil {
		return err
	}
	// The mark goes last, so that a removal that was killed can be begun again.
	return errors.Join(root.Remove(ownName), parent.Remove(name))
}
