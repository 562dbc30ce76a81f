package sandbox

import (
	"os"
	"sync"
	"syscall"
)

// maxLog is the size in bytes at which a log starts anew.
const maxLog = 4 << 20

// logFile is a log of bounded size: when it is full it becomes NAME.1, in place
// of the one before, and starts again. What the agent makes git say must not
// fill the host's disk.
type logFile struct {
	path string

	mu   sync.Mutex
	file *os.File
	size int64
}

func openLog(path string) (*logFile, error) {
	l := &logFile{path: path}
	return l, l.open()
}

func (l *logFile) open() error {
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	l.file, l.size = f, info.Size()
	return nil
}

// Write appends one line.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size > 0 && l.size+int64(len(p)) > maxLog {
		if err := os.Rename(l.path, l.path+".1"); err != nil {
			return 0, err
		}
		old := l.file
		if err := l.open(); err != nil {
			return 0, err
		}
		old.Close()
	}
	n, err := l.file.Write(p)
	l.size += int64(n)
	return n, err
}

// Close closes the file.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}
