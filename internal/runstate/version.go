package runstate

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Version is a short stamp of all these files: while it stays the same, nothing has changed.
// It costs some calls of stat and reads no file.
func Version(bare string) string {
	paths := []string{LockPath, suitePath, backpressurePath, MeterPath, signsPath}
	sum := sha256.New()
	for _, path := range paths {
		add(sum, filepath.Join(bare, path))
	}
	for _, dir := range []string{LiveDir, judgingDir, WorkersDir} {
		entries, _ := os.ReadDir(filepath.Join(bare, dir))
		for _, e := range entries[:min(len(entries), maxVersion)] {
			add(sum, filepath.Join(bare, dir, e.Name()))
		}
	}
	_, running := Running(bare)
	fmt.Fprint(sum, running)
	return fmt.Sprintf("%x", sum.Sum(nil)[:8])
}

// MaxLiveFiles is how many directives have their events kept, two files each: more than
// workers can be at work at once. maxVersion bounds what is looked at of a directory.
const (
	MaxLiveFiles = 128
	maxVersion   = 4 * MaxLiveFiles
)

// add adds what changes when a file does.
func add(sum interface{ Write([]byte) (int, error) }, path string) {
	info, err := os.Lstat(path)
	if err != nil {
		fmt.Fprintf(sum, "%s: none\n", path)
		return
	}
	var inode uint64
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		inode = s.Ino
	}
	fmt.Fprintf(sum, "%s: %d %d %d\n", path, info.Size(), info.ModTime().UnixNano(), inode)
}
