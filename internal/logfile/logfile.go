// Package logfile writes logs of bounded size: what an agent makes others say
// must not fill a disk.
package logfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
)

// File is a log. When it would grow beyond its limit it becomes NAME.1, in place
// of the one before, and starts again. It may be used by several goroutines.
type File struct {
	path  string
	limit int64
	mode  fs.FileMode

	mu   sync.Mutex
	file *os.File
	size int64
}

// Open opens or makes the log at path, of at most limit bytes. Links are not
// followed, and what is not a regular file is an error.
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
	if err != nil {
		f.Close()
		return err
	}
	l.file, l.size = f, info.Size()
	return nil
}

// Write appends p, whole, to one file. On a full disk the older file goes.
func (l *File) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size > 0 && l.size+int64(len(p)) > l.limit {
		if err := l.rotate(); err != nil {
			return 0, err
		}
	}
	n, err := l.file.Write(p)
	l.size += int64(n)
	if errors.Is(err, syscall.ENOSPC) && os.Remove(l.path+".1") == nil {
		var more int
		more, err = l.file.Write(p[n:])
		n, l.size = n+more, l.size+int64(more)
	}
	return n, err
}

func (l *File) rotate() error {
	if err := os.Rename(l.path, l.path+".1"); err != nil {
		return err
	}
	old := l.file
	if err := l.open(); err != nil {
		return err
	}
	return old.Close()
}

// Close closes the file.
func (l *File) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}
