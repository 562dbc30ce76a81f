package tool

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// EndTagged ends every process whose environment holds tag ("NAME=value") and
// returns how many there were. With a grace they get SIGTERM first and that much
// time, so that git removes its lock files; then SIGKILL.
//
// Process groups do not do: setsid(1) leaves one, and after a kill -9 of the
// agent nobody knows them any more. An environment is inherited by all.
func EndTagged(tag string, grace time.Duration) int {
	all := make(map[int]bool)
	signal := func(s os.Signal) (left int) {
		eachTagged(tag, func(p *os.Process) {
			left++
			all[p.Pid] = true
			p.Signal(s) // it may be gone already
		})
		return left
	}
	for end := time.Now().Add(grace); time.Now().Before(end) && signal(syscall.SIGTERM) > 0; {
		time.Sleep(20 * time.Millisecond)
	}
	// Again, because a process may fork while the list is read.
	for range 10 {
		if signal(os.Kill) == 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	return len(all)
}

// eachTagged visits the processes that carry tag. The handle is taken before the
// look at the environment, and signals go by the handle: they cannot hit a
// stranger who got the number in between (pidfd_open(2)).
func eachTagged(tag string, visit func(*os.Process)) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() {
			continue
		}
		p, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		if carries(filepath.Join(dir, "environ"), tag) {
			visit(p)
		}
		p.Release()
	}
}

// carries reports whether an environment holds tag. One that cannot be read is
// another user's, or just gone.
func carries(path, tag string) bool {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) || len(data) == 0 {
		return false
	}
	for entry := range bytes.SplitSeq(data, []byte{0}) {
		if string(entry) == tag {
			return true
		}
	}
	return false
}
