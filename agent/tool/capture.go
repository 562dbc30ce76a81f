package tool

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"git-ward/internal/glob"
)

const (
	// logSize is how much of one command's output is stored on disk.
	logSize = 64 << 20
	// keptLogs bounds older commands' stored output, in bytes.
	keptLogs = 256 << 20
)

// kinds are the prefixes of output files' names.
var kinds = []string{"bash", "exec"}

// capture stores a command's output: up to logSize in a file, and its beginning and end for
// the model. The end has the errors and the beginning the command that caused them, so the
// middle is cut.
type capture struct {
	id   string // the command's unique name
	path string
	file *os.File

	mu    sync.Mutex
	size  int // bytes for the model
	head  []byte
	tail  []byte // at most twice the needed length
	total int64
}

func newCapture(dir, kind string, size int) (*capture, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := pruneLogs(dir, keptLogs); err != nil {
		return nil, err
	}
	// Names sort by time.
	f, err := os.CreateTemp(dir, kind+"-"+time.Now().UTC().Format("20060102T150405.000000000Z")+"-*.log")
	if err != nil {
		return nil, err
	}
	id := fmt.Sprintf("%d/%s", os.Getpid(), filepath.Base(f.Name()))
	return &capture{id: id, path: f.Name(), file: f, size: size}, nil
}

// Write takes what was printed. It fails where the disk is full, so that the
// command is ended; of what is beyond logSize the file has nothing.
func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if room := logSize - c.total; room > 0 {
		if _, err := c.file.Write(p[:min(int64(len(p)), room)]); err != nil {
			return 0, err
		}
	}
	c.total += int64(len(p))
	n := min(c.size/2-len(c.head), len(p))
	c.head = append(c.head, p[:n]...)
	c.tail = append(c.tail, p[n:]...)
	if keep := c.size - c.size/2; len(c.tail) > 2*keep {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-keep:]...)
	}
	return len(p), nil
}

// text is what the model gets, with a final newline unless it is empty.
func (c *capture) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	tail := c.tail[max(0, len(c.tail)-(c.size-c.size/2)):]
	left := c.total - int64(len(c.head)+len(tail))
	var b strings.Builder
	b.Write(c.head)
	if left > 0 {
		fmt.Fprintf(&b, "\n[%d bytes left out; all is in %s]\n", left, c.path)
	}
	b.Write(tail)
	if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
		b.WriteByte('\n')
	}
	return strings.ToValidUTF8(b.String(), "\ufffd")
}

// lastLines is Tail of the kept output, or all of it if short.
func (c *capture) lastLines(size int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := string(c.tail)
	if c.total == int64(len(c.head)+len(c.tail)) {
		text = string(c.head) + text
	}
	return Tail(text, size)
}

// Tail is the last lines of a text, size bytes at most; of a line that is longer
// than that, its end.
func Tail(text string, size int) string {
	if len(text) > size {
		text = text[len(text)-size:]
		if _, lines, ok := strings.Cut(text, "\n"); ok && strings.TrimSpace(lines) != "" {
			text = lines
		}
	}
	return strings.TrimSpace(strings.ToValidUTF8(text, "\ufffd"))
}

// logTime is a log's name without its kind, which sorts by time.
func logTime(path string) string {
	_, rest, _ := strings.Cut(filepath.Base(path), "-")
	return rest
}

// pruneLogs removes the oldest output files until at most keep bytes remain.
func pruneLogs(dir string, keep int64) error {
	var paths []string
	for _, kind := range kinds {
		some, err := glob.Below(dir, kind+"-*.log")
		if err != nil {
			return err
		}
		paths = append(paths, some...)
	}
	slices.SortFunc(paths, func(a, b string) int { return cmp.Compare(logTime(b), logTime(a)) })
	for _, path := range paths {
		info, err := os.Lstat(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		// Even an empty file takes a disk block.
		if keep -= max(info.Size(), 4096); keep < 0 {
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}
