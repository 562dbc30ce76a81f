package git

import (
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Mark is how the files that hold a ref looked at some moment. It tells without
// a child that a ref may have moved, and works through a read-only mount, where
// notifications do not come (AGT-6).
type Mark [2]fileMark

type fileMark struct {
	inode uint64
	size  int64
	time  time.Time
}

// Mark looks at a full ref name, or at a directory of refs, in which git makes a file
// for every move. Take it before reading the ref: what is pushed in between is then
// seen.
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
