package sandbox

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"git-ward/internal/benchtest"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// clients of the measurement of waiting, and for how long.
const (
	waiters    = 100
	waitingFor = 15 * time.Second
	tellEach   = 500 * time.Millisecond
)

// TestBenchManyWait measures how a hundred agents come to know that a ref of all has moved,
// twice a second: by looking at its file, as on one host, by asking with git each second,
// and by the stream of `git ward door` that near reads. No ssh is in it.
func TestBenchManyWait(t *testing.T) {
	tier.Full(t, "it measures")
	benchtest.Only(t)
	p, names := crowded(t, waiters)
	what := fmt.Sprintf("%d agents wait, control moves twice a second: ", waiters)
	m := newMover(t, p)
	base := m.looks(t)
	base.row(what+"a look at its file twice a second", base)
	m.asks(t).row(what+"git ls-remote of one ref each second", base)
	m.streams(t, names).row(what+"the stream of git ward door", base)
}

// waited is what came of a way to wait.
type waited struct {
	cpu   time.Duration   // of one client for waitingFor
	after []time.Duration // from the start of a move until a client knew
	bytes int64           // of memory, each client
}

func (w waited) row(what string, base waited) {
	each := func(w waited) float64 { return w.cpu.Seconds() * 1000 / waitingFor.Seconds() }
	slices.Sort(w.after)
	if len(w.after) == 0 {
		return
	}
	know := benchtest.MS(w.after[len(w.after)/2]) + ", " + benchtest.MS(w.after[len(w.after)*95/100])
	benchtest.Row(what+", processor time of one", fmt.Sprintf("%.3f ms a second", each(w)), fmt.Sprintf("a look %.3f ms a second", each(base)), "")
	benchtest.Row(what+", known after, p50 and p95", know, "", "")
	if w.bytes > 0 {
		benchtest.Row(what+", memory of its own of each", fmt.Sprintf("%.1f MiB", float64(w.bytes)/(1<<20)), "", "")
	}
}

// mover moves a ref that concerns everybody.
type mover struct {
	*gittest.Pair
	ids  []string
	mu   sync.Mutex
	when map[string]time.Time // of the move to an id
}

const movedRef = "refs/heads/bench"

func newMover(t *testing.T, p *gittest.Pair) *mover {
	m := &mover{Pair: p, when: map[string]time.Time{}}
	for i := range int(waitingFor / tellEach) {
		m.ids = append(m.ids, strings.TrimSpace(p.Run(p.Bare, "git", "commit-tree", "-m", fmt.Sprint(i), "main^{tree}")))
	}
	m.to(m.ids[0])
	return m
}

func (m *mover) to(id string) {
	m.mu.Lock()
	m.when[id] = time.Now()
	m.mu.Unlock()
	m.Run(m.Bare, "git", "update-ref", movedRef, id)
}

// during moves the ref while others wait for it.
func (m *mover) during() {
	for _, id := range m.ids {
		next := time.After(tellEach)
		m.to(id)
		<-next
	}
}

// since is how long ago the ref moved to an id.
func (m *mover) since(id string) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Since(m.when[id])
}

// looks has one thread look at the ref's file for all clients, one after the other.
func (m *mover) looks(t *testing.T) (w waited) {
	repo, over := git.Open(m.Bare), make(chan bool)
	go func() { m.during(); close(over) }()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after syscall.Rusage
	const thread = 1 // RUSAGE_THREAD
	syscall.Getrusage(thread, &before)
	known := make([]git.Mark, waiters)
	for i := 0; ; i = (i + 1) % waiters {
		select {
		case <-over:
			syscall.Getrusage(thread, &after)
			w.cpu = (spent(&after) - spent(&before)) / waiters
			return w
		case <-time.After(500 * time.Millisecond / waiters):
		}
		if now := repo.Mark(movedRef); now != known[i] {
			known[i] = now
			id, err := os.ReadFile(filepath.Join(m.Bare, movedRef))
			if err != nil {
				t.Fatal(err)
			}
			w.after = append(w.after, m.since(strings.TrimSpace(string(id))))
		}
	}
}

func spent(r *syscall.Rusage) time.Duration {
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// askers ask with git; a hundred of them would take the machine.
const askers = 10

func (m *mover) asks(t *testing.T) (w waited) {
	over := make(chan bool)
	go func() { m.during(); close(over) }()
	var group sync.WaitGroup
	var mu sync.Mutex
	for i := range askers {
		group.Go(func() {
			time.Sleep(time.Second / askers * time.Duration(i)) // not all at once
			for known := ""; ; {
				select {
				case <-over:
					return
				case <-time.After(time.Second):
				}
				cmd := exec.Command("git", "ls-remote", "file://"+m.Bare, movedRef)
				cmd.Env = m.Env
				out, err := cmd.Output()
				id, _, _ := strings.Cut(string(out), "\t")
				mu.Lock()
				if w.cpu += (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()) / askers; err != nil {
					t.Error(err)
				} else if id != known {
					known, w.after = id, append(w.after, m.since(id))
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return w
}

// streams has a process for each client, as sshd starts it.
func (m *mover) streams(t *testing.T, names []string) (w waited) {
	var group, whole sync.WaitGroup
	var mu sync.Mutex
	var all []*exec.Cmd
	for _, name := range names {
		cmd := exec.Command("env", "SSH_ORIGINAL_COMMAND=ward watch", "git-ward-launch", "door", "--stdio", "--bare", m.Bare, "--lease", name)
		cmd.Env = m.Env
		in, inErr := cmd.StdinPipe() // held open: its end is the client's
		out, outErr := cmd.StdoutPipe()
		if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		all = append(all, cmd)
		whole.Add(1)
		group.Go(func() {
			defer cmd.Wait()
			defer in.Close()
			listed := false
			for lines := bufio.NewScanner(out); lines.Scan(); {
				words := strings.Fields(lines.Text())
				switch {
				case len(words) == 1 && !listed:
					listed = true
					whole.Done()
				case listed && len(words) == 3 && words[2] == movedRef:
					mu.Lock()
					w.after = append(w.after, m.since(words[1]))
					mu.Unlock()
				}
			}
			if !listed {
				t.Error("a stream ended before it had listed the refs")
				whole.Done()
			}
		})
	}
	whole.Wait()
	before := used(all)
	m.during()
	w.cpu = (used(all) - before) / waiters
	for _, cmd := range all {
		w.bytes += own(cmd.Process.Pid) / waiters
		cmd.Process.Kill()
	}
	group.Wait()
	return w
}

// used is the processor time of processes so far, in the kernel's hundredths of a second.
func used(all []*exec.Cmd) (d time.Duration) {
	for _, cmd := range all {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		for _, field := range fields[min(len(fields), 11):min(len(fields), 13)] { // utime, stime: proc(5)
			ticks, _ := strconv.Atoi(field)
			d += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return d
}

// own is the memory that a process shares with no file, in bytes.
func own(pid int) int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kB, _ := strconv.ParseInt(strings.Fields(text)[0], 10, 64)
			return kB << 10
		}
	}
	return 0
}
