package bootstrap

import (
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"git-ward/internal/logfile"
)

const (
	// errorLogSize is how large errors.log becomes before it starts anew; one
	// predecessor stays.
	errorLogSize = 16 << 20
	ownLogSize   = 4 << 20
	buildLogSize = 16 << 20
	// consoleBurst and consoleRate bound, in bytes and bytes a second, what of the
	// agent's output goes on to the launcher: the host's disk is not the agent's.
	consoleBurst = 1 << 20
	consoleRate  = 4 << 10
)

// openLog opens a log of the watcher's own, in a folder where the agent writes.
func (w *watcher) openLog(path string, size int64) (*logfile.File, error) {
	if err := w.aside(path, 0); err != nil {
		return nil, err
	}
	return logfile.Open(path, size, 0o644)
}

func (w *watcher) openBuildLog() (*logfile.File, error) { return w.openLog(w.buildLog(), buildLogSize) }

// capture takes what an agent prints: into errors.log, and some of it on to the
// launcher.
type capture struct {
	log     io.Writer
	console *console
	total   atomic.Int64

	mu   sync.Mutex
	last []byte
}

func (c *capture) written() int64 { return c.total.Load() }

// Write never fails: an agent must not notice that a disk is full.
func (c *capture) Write(p []byte) (int, error) {
	c.total.Add(int64(len(p)))
	c.log.Write(p)
	c.console.Write(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = append(c.last, p...)
	if len(c.last) > 4<<10 {
		c.last = append(c.last[:0], c.last[len(c.last)-2<<10:]...)
	}
	return len(p), nil
}

// tail is the end of what was printed.
func (c *capture) tail() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return lastLines(string(c.last))
}

// console passes bytes on at a bounded rate, and says when it left some out.
type console struct {
	w      io.Writer
	tokens float64
	at     time.Time
	muted  bool
}

func newConsole(w io.Writer) *console {
	return &console{w: w, tokens: consoleBurst, at: time.Now()}
}

func (c *console) Write(p []byte) (int, error) {
	now := time.Now()
	c.tokens = min(consoleBurst, c.tokens+now.Sub(c.at).Seconds()*consoleRate)
	c.at = now
	switch {
	case c.tokens >= float64(len(p)):
		c.tokens -= float64(len(p))
		c.muted = false
		return c.w.Write(p)
	case !c.muted:
		c.muted = true
		io.WriteString(c.w, "\nward-watcher: the agent prints too much; the rest is in logs/errors.log only\n")
	}
	return len(p), nil
}

func onDisk(path string) int64 {
	info, err := os.Lstat(path)
	if err != nil {
		return 0
	}
	return info.Sys().(*syscall.Stat_t).Blocks * 512
}

// trimLogs removes from logs/ what is large and not the watcher's, after the
// agent that made it was ended. The folder is the watcher's, so it may.
func (w *watcher) trimLogs() {
	entries, err := os.ReadDir(w.logs())
	if err != nil {
		return
	}
	share := w.Settings.Guard.Logs / 64
	for _, e := range entries {
		path := filepath.Join(w.logs(), e.Name())
		if onDisk(path) <= share || path == w.errorLog() || path == w.ownLog() {
			continue
		}
		if err := os.Remove(path); err == nil {
			w.log.Warn().Str("file", path).Msg("a large log is removed")
		}
	}
}
