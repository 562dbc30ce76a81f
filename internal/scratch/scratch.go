// Package scratch makes directories that Ward may remove, and removes no other. Each holds a
// mark: an identity made at random, the directory's own name and inode, and a lock that its
// maker has for as long as it works in it. A directory is removed only if it has that mark (a
// copy of the mark or a similar name does not count), if whatever points to it has the same
// identity, and if the kernel has released the lock. Removal goes through an os.Root of the
// parent, so no link leads out.
package scratch

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"git-ward/internal/failpoint"
)

// Prefix begins each name, so that a sweep of the temporary directory can skip what others
// have there. It decides nothing.
const Prefix = "ward-"

// markName is the file of the mark, and maxMark how much of it is read.
const (
	markName = ".ward-scratch"
	maxMark  = 4 << 10
)

// mark is what stands in a scratch directory. A copy has another inode.
type mark struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Inode uint64 `json:"inode"`
}

// Dir is a scratch directory in use.
type Dir struct {
	Path string
	ID   string // that whatever points to it has to name
	// Lock is held by who works in it: a child that inherits it (exec.Cmd.ExtraFiles) works
	// in it, too.
	Lock *os.File
}

// swept are the parents that this process has swept.
var swept sync.Map

// Make makes a directory in parent, by default the temporary directory. The name tells people
// what it is for. Once a process, Make first removes what killed makers left in parent. It
// ignores failures of that; `git ward doctor` reports what is left.
func Make(parent, what string) (*Dir, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	if _, done := swept.Swap(parent, true); !done {
		Sweep(parent)
	}
	root, err := os.OpenRoot(parent)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	d := &Dir{ID: rand.Text()}
	for range 100 {
		// Few random bytes: sockets lie two such directories deep, and their paths may have 107
		// bytes in all.
		name := Prefix + what + strings.ToLower(rand.Text()[:4])
		d.Path = filepath.Join(parent, name)
		if d.Lock, err = announce(root, name, d.ID); err == nil {
			failpoint.Reach("scratch/announced")
			if err = errors.Join(d.takeIn(root, name), root.Remove(beside(name))); err == nil {
				return d, nil
			}
			d.Lock.Close()
		}
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return nil, err
}

// Inherit returns a directory whose lock this process inherited from another.
func Inherit(path, id string, lock *os.File) *Dir { return &Dir{Path: path, ID: id, Lock: lock} }

// Remove removes the directory and releases its lock. A missing directory is no error.
func (d *Dir) Remove() error {
	err := remove(d.Path, d.ID, d.Lock)
	d.Lock.Close()
	return err
}

// Keep renames the directory and makes it permanent. If the name is taken, it returns an
// error, and the directory stays scratch.
func (d *Dir) Keep(path string) error {
	if err := os.Rename(d.Path, path); err != nil {
		return err
	}
	// The mark is of the other name, so that nobody removes the directory by it any more.
	defer d.Lock.Close()
	return os.Remove(filepath.Join(path, markName))
}

// Reclaim removes a directory that a pointer names, if it has the pointer's identity and its
// maker is gone. Anything else stays.
func Reclaim(path, id string) error {
	if id == "" || !filepath.IsAbs(path) {
		return nil
	}
	return remove(path, id, nil)
}

// Sweep removes from a directory what dead makers left there. The error names each directory
// that could not be removed.
func Sweep(parent string) error {
	dir, err := os.Open(parent)
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(parent)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range names {
		switch {
		case !strings.HasPrefix(name, Prefix):
		case announced(name):
			err = errors.Join(err, finish(root, name))
		default:
			err = errors.Join(err, remove(filepath.Join(parent, name), "", nil))
		}
	}
	return err
}

// remove removes a directory of an identity, "" for the one that its mark has, under a lock
// that is held, or that nobody has.
func remove(path, id string, held *os.File) error {
	parent, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return unlessGone(err)
	}
	defer parent.Close()
	name := filepath.Base(path)
	before, err := parent.Lstat(name)
	if err != nil || !before.IsDir() || owner(before) != os.Geteuid() {
		return nil
	}
	dir, err := parent.OpenRoot(name)
	if err != nil {
		return unlessGone(err)
	}
	defer dir.Close()
	if now, err := dir.Lstat("."); err != nil || !os.SameFile(before, now) {
		return nil
	}
	lock, ok := proven(dir, mark{id, name, inode(before)}, held)
	if !ok {
		return nil
	}
	defer lock.Close()
	err = empty(dir, path, markName)
	if _, gone := parent.Lstat(name); errors.Is(gone, fs.ErrNotExist) {
		return nil // another process of those that have the lock removed it meanwhile
	}
	if err != nil {
		return fmt.Errorf("%s, which Ward made, cannot be removed; see what is in it: %w", path, err)
	}
	return putOut(parent, dir, name)
}

// unlessGone is nil if a directory that cannot be opened is not this process's: another
// process has removed it, or another user owns it. Any other error, such as too many open
// files, does not say whether it exists, and is returned.
func unlessGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// proven reports whether a directory has the mark and its lock is held, or can be taken now.
func proven(dir *os.Root, want mark, held *os.File) (lock *os.File, ok bool) {
	lock, err := dir.OpenFile(markName, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, false
	}
	m, err := read(lock)
	ok = err == nil && m.ID != "" && m.Name == want.Name && m.Inode == want.Inode && (want.ID == "" || m.ID == want.ID)
	if ok && held != nil {
		ok = stands(dir, held) && unix.Flock(int(held.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
	} else if ok {
		ok = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil && stands(dir, lock)
	}
	if !ok {
		lock.Close()
	}
	return lock, ok
}

func read(lock *os.File) (m mark, err error) {
	text, err := io.ReadAll(io.LimitReader(lock, maxMark))
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	return m, err
}

// stands reports whether an opened mark is still the directory's: its last holder may have
// removed both.
func stands(dir *os.Root, lock *os.File) bool {
	one, err1 := lock.Stat()
	two, err2 := dir.Lstat(markName)
	return err1 == nil && err2 == nil && os.SameFile(one, two)
}

func ignore(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func inode(info fs.FileInfo) uint64 { return info.Sys().(*syscall.Stat_t).Ino }

func owner(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }
