package store

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lookEvery is how often Wait looks: a PM's push is seen within a second (AGT-6).
const lookEvery = 500 * time.Millisecond

// Mark is how the remote's main looked at some moment, on disk.
type Mark [2]fileMark

type fileMark struct {
	inode uint64
	size  int64
	time  time.Time
}

// Mark looks at the files that hold main. Take it before reading main: what is
// pushed in between is then seen.
func (s *Store) Mark() Mark {
	return Mark{
		markFile(filepath.Join(s.Bare, "refs", "heads", "main")),
		markFile(filepath.Join(s.Bare, "packed-refs")),
	}
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

// Wait returns when main may have moved since the mark, or after limit. Two calls
// of stat twice a second are cheaper than any child, and work through a read-only
// mount, where notifications do not come.
func (s *Store) Wait(ctx context.Context, since Mark, limit time.Duration) error {
	end := time.NewTimer(limit)
	defer end.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for s.Mark() == since {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end.C:
			return nil
		case <-look.C:
		}
	}
	return ctx.Err()
}
