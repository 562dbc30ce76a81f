package program

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"git-ward/agent/activity"
)

// steps counts what a command has plans do, by `git ward plan run` or over MCP: its
// stream tells of one call, and each step is one (PLAN-10). They stand in the clone's
// activity log, which is another's than the worker's.
type steps struct {
	seen func(tool string) // is told of each
	logs map[string]int64  // by their paths, how far each was read
	n    int
}

// maxSteps bounds what is read of a log at once, in bytes.
const maxSteps = 1 << 20

// newSteps counts from here on.
func newSteps(dir string, seen func(tool string)) *steps {
	s := &steps{seen: seen, logs: map[string]int64{}}
	for _, at := range []string{"logs", ".git/ward/logs"} { // as a tree knows of Ward, or not
		path := filepath.Join(dir, filepath.FromSlash(at), activity.Name)
		s.logs[path] = 0
		if info, err := os.Lstat(path); err == nil {
			s.logs[path] = info.Size()
		}
	}
	return s
}

// follow looks again and again until the context ends, and once more after that.
func (s *steps) follow(ctx context.Context) {
	for ctx.Err() == nil {
		s.look()
		select {
		case <-ctx.Done():
		case <-time.After(askPoll): // another process writes the log, and tells nobody
		}
	}
	s.look()
}

func (s *steps) look() {
	for path, from := range s.logs {
		for more := true; more; {
			var data []byte
			data, from, more = readLines(path, from)
			for line := range bytes.Lines(data) {
				s.take(line)
			}
		}
		s.logs[path] = from
	}
}

func (s *steps) take(line []byte) {
	var e activity.Entry
	if json.Unmarshal(line, &e) != nil || e.Task.Step == "" || len(e.Execution.Stack) == 0 {
		return
	}
	s.n++
	tool, _ := e.Action.Details["tool"].(string)
	s.seen(tool)
}

// readLines is what whole lines a file has from an offset on, where the next ones begin,
// and whether there may be more. Whoever works writes it, so nothing but a plain file is
// read, and one that is shorter than it was is another one.
func readLines(path string, from int64) (data []byte, next int64, more bool) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, from, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == from {
		return nil, from, false
	}
	if info.Size() < from {
		from = 0
	}
	data, err = io.ReadAll(io.NewSectionReader(f, from, maxSteps))
	if err != nil {
		return nil, from, false
	}
	end := bytes.LastIndexByte(data, '\n') + 1
	if end == 0 && len(data) == maxSteps { // a line that long is none
		end = len(data)
	}
	return data[:end], from + int64(end), end > 0
}
