// Package logfile writes logs of bounded size, because an agent can make other programs log.
package logfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// File is a log. When it would grow beyond its limit, it is renamed to NAME.1, which it
// replaces, and starts again. Several goroutines and several processes may write one log.
type File struct {
	path  string
	limit int64
	mode  fs.FileMode

	mu      sync.Mutex
	file    *os.File
	streams []int // descriptors that lead to the file, too
}

// Open opens or creates the log at path, of at most limit bytes. It follows no link, and
// refuses anything but a regular file.
func Open(path string, limit int64, mode fs.FileMode) (*File, error) {
	l := &File{path: path, limit: limit, mode: mode}
	return l, l.open()
}

func (l *File) open() error {
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, l.mode)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", l.path)
	}
	if err == nil && info.Mode().Perm() != l.mode {
		err = f.Chmod(l.mode) // the umask took bits away
	}
	for _, fd := range l.streams {
		if err == nil {
			err = unix.Dup3(int(f.Fd()), fd, 0)
		}
	}
	if err != nil {
		f.Close()
		return err
	}
	if l.file != nil {
		l.file.Close()
	}
	l.file = f
	return nil
}

// Lead makes descriptors of this process point to the log, also after each rotation. The last
// words of a crashing runtime come only by its descriptors.
func (l *File) Lead(fds ...int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.streams = fds
	return l.open()
}

// Write appends all of p to one file. On a full disk it removes the older file.
func (l *File) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.makeRoom(int64(len(p))); err != nil {
		return 0, err
	}
	n, err := l.file.Write(p)
	if errors.Is(err, syscall.ENOSPC) && os.Remove(l.path+".1") == nil {
		var more int
		more, err = l.file.Write(p[n:])
		n += more
	}
	return n, err
}

// makeRoom begins the file anew where n bytes more would be too much, unless another
// process has done so.
func (l *File) makeRoom(n int64) error {
	info, err := l.file.Stat()
	if err != nil || info.Size() == 0 || info.Size()+n <= l.limit {
		return err
	}
	// The lock is on the file that is full: who has it is the one who renames it.
	if err := unix.Flock(int(l.file.Fd()), unix.LOCK_EX); err != nil {
		return err
	}
	now, err := os.Lstat(l.path)
	if err == nil && os.SameFile(now, info) {
		err = os.Rename(l.path, l.path+".1")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return l.open() // and the lock goes with the old file
}

// Close closes the file.
func (l *File) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}
