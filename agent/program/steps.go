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

// steps counts the steps of plans that a command runs by `git ward plan run` or over MCP: its
// stream shows one call, but each step counts (PLAN-10). They are in the clone's activity log,
// not in the worker's.
type steps struct {
	seen func(tool string) // called for each
	logs map[string]int64  // read offset by path
	n    int
}

// maxSteps bounds what is read of a log at once, in bytes.
const maxSteps = 1 << 20

// newSteps counts from the logs' current ends.
func newSteps(dir string, seen func(tool string)) *steps {
	s := &steps{seen: seen, logs: map[string]int64{}}
	for _, at := range []string{"logs", ".git/ward/logs"} { // depends on whether the tree uses Ward
		path := filepath.Join(dir, filepath.FromSlash(at), activity.Name)
		s.logs[path] = 0
		if info, err := os.Lstat(path); err == nil {
			s.logs[path] = info.Size()
		}
	}
	return s
}

// follow polls until the context ends, and once more after that.
func (s *steps) follow(ctx context.Context) {
	for ctx.Err() == nil {
		s.look()
		select {
		case <-ctx.Done():
		case <-time.After(askPoll): // poll: another process writes the log
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

// readLines reads whole lines from an offset, and returns the next offset and whether there
// may be more. The worker writes the file, so only a regular file is read, and one that shrank
// counts as new.
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
	if end == 0 && len(data) == maxSteps { // so long a line is malformed
		end = len(data)
	}
	return data[:end], from + int64(end), end > 0
}
