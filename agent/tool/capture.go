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
	// logSize is how much of one command's output stays on disk.
	logSize = 64 << 20
	// keptLogs is how many bytes of older commands' output stay there.
	keptLogs = 256 << 20
)

// kinds are the beginnings of the names of commands' output.
var kinds = []string{"bash", "exec"}

// capture takes a command's output: all of it into a file, up to logSize, and
// its beginning and end for the model. Errors are at the end and the command
// that made them at the beginning, so the middle is what can be spared.
type capture struct {
	id   string // of the command, unique
	path string
	file *os.File

	mu    sync.Mutex
	size  int // of what the model gets
	head  []byte
	tail  []byte // at most twice as long as needed
	total int64
}

func newCapture(dir, kind string, size int) (*capture, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := pruneLogs(dir, keptLogs); err != nil {
		return nil, err
	}
	// The name sorts by time.
	f, err := os.CreateTemp(dir, kind+"-"+time.Now().UTC().Format("20060102T150405.000000000Z")+"-*.log")
	if err != nil {
		return nil, err
	}
	id := fmt.Sprintf("%d/%s", os.Getpid(), filepath.Base(f.Name()))
	return &capture{id: id, path: f.Name(), file: f, size: size}, nil
}

func (c *capture) close() { c.file.Close() }

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

// text is what the model gets, ended by a newline unless it is empty.
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

// lastLines is Tail of what is kept: the end of the output, and all of it where it
// is short.
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

// logTime is what is left of a log's name without its kind: it sorts by time.
func logTime(path string) string {
	_, rest, _ := strings.Cut(filepath.Base(path), "-")
	return rest
}

// pruneLogs removes the oldest files of commands until at most keep bytes stay.
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
		// An empty file costs a block, too.
		if keep -= max(info.Size(), 4096); keep < 0 {
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}
