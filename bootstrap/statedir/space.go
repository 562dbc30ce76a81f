package statedir

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"git-ward/internal/atomicfile"
)

// Free is the part of the directory's disk that can be written, from 0 to 1, in
// blocks or in files, whichever is less.
func (d *Dir) Free() float64 {
	var s unix.Statfs_t
	if unix.Statfs(d.Path, &s) != nil || s.Blocks == 0 {
		return 1
	}
	return min(float64(s.Bavail)/float64(s.Blocks), float64(s.Ffree+1)/float64(s.Files+1))
}

// LogsSize returns the disk space of the logs, in bytes.
func (d *Dir) LogsSize() (size int64) {
	f, err := os.Open(d.Logs())
	if err != nil {
		return 0
	}
	defer f.Close()
	// A directory of very many files is too much whatever they hold.
	names, _ := f.Readdirnames(100_000)
	for _, name := range names {
		size += onDisk(filepath.Join(d.Logs(), name))
	}
	return size
}

// onDisk is what a file takes on the disk, in bytes: stat(2) counts in 512.
func onDisk(path string) int64 {
	info, err := os.Lstat(path)
	if err != nil {
		return 0
	}
	return info.Sys().(*syscall.Stat_t).Blocks * 512
}

// TrimLogs removes from logs/ the files of more than size bytes that are not the
// watcher's, after the agent that made them was ended, and returns their paths. The
// directory is the watcher's, so it may.
func (d *Dir) TrimLogs(size int64) (removed []string) {
	entries, err := os.ReadDir(d.Logs())
	if err != nil {
		return nil
	}
	for _, e := range entries {
		path := filepath.Join(d.Logs(), e.Name())
		if onDisk(path) <= size || slices.Contains([]string{d.BootLog(), d.ErrorLog(), d.WatcherLog()}, path) {
			continue
		}
		if os.Remove(path) == nil {
			removed = append(removed, path)
		}
	}
	return removed
}

// reserveSize is more than what must be written while a disk is full: a few lines
// of bootstrap.log, and the watcher's state.
const reserveSize = 1 << 20

func (d *Dir) reserve() string { return d.Own("spare") }

// Reserve reserves disk space, if there is any, for what must be written even after an agent has filled the
// disk.
func (d *Dir) Reserve() {
	if info, err := os.Lstat(d.reserve()); err == nil && info.Size() == reserveSize {
		return
	}
	f, err := os.OpenFile(d.reserve(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	if syscall.Fallocate(int(f.Fd()), 0, 0, reserveSize) != nil {
		os.Remove(d.reserve())
	}
}

// Release frees the reserve if err means that the disk is full. It reports whether there was a reserve, so
// that the caller can write again.
func (d *Dir) Release(err error) bool {
	return errors.Is(err, syscall.ENOSPC) && os.Remove(d.reserve()) == nil
}

// WriteOwn writes a file in Private atomically. On a full disk it frees the reserve and tries again.
func (d *Dir) WriteOwn(name string, data []byte) error {
	err := atomicfile.Write(d.Own(name), data, 0o600)
	if d.Release(err) {
		err = atomicfile.Write(d.Own(name), data, 0o600)
	}
	return err
}
