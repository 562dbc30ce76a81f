package git

import (
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Mark is a snapshot of the metadata of the files that hold a ref. It shows without a child
// that a ref may have moved, also through a read-only mount, where inotify does not work
// (AGT-6).
type Mark [2]fileMark

type fileMark struct {
	inode uint64
	size  int64
	time  time.Time
}

// Mark takes the mark of a full ref name, or of a directory of refs, in which git creates a
// file for every move. Take it before reading the ref, so that a push in between is seen.
func (r *Repo) Mark(ref string) Mark {
	return Mark{markFile(filepath.Join(r.Dir, filepath.FromSlash(ref))), markFile(filepath.Join(r.Dir, "packed-refs"))}
}

func markFile(path string) fileMark {
	info, err := os.Stat(path)
	if err != nil {
		return fileMark{}
	}
	m := fileMark{size: info.Size(), time: info.ModTime()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		m.inode = sys.Ino
	}
	return m
}
