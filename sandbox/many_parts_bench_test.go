package sandbox

import (
	"bufio"
	"bytes"
	"encoding/binary"
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
	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/token"
	"git-ward/protocols/comms"
	"git-ward/protocols/lease"
	sandboxlease "git-ward/sandbox/lease"
)

// crowded is a guarded repository with n directives in control, each with the refs that one
// at work has: a unit, a record, what is folded of it, a branch, a live lease, and a
// report. Only the leases are real; the others stand for their number.
func crowded(t *testing.T, n int) (p *gittest.Pair, names []string) {
	t.Helper()
	p = gittest.New(t)
	var open, refs strings.Builder
	at := time.Now()
	for i := range n {
		fmt.Fprintf(&open, "### D-%d: a file of its own\n\n- [ ] it is there (`test -s f%[1]d`)\n\n", i+1)
	}
	text := []byte("# COMMS\n\n## Directives\n\n" + open.String() + "## Reports\n")
	p.Commit("COMMS.md", string(text))
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	tip := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	for i := range n {
		d := fmt.Sprintf("D-%d", i+1)
		var id [lease.IDBytes]byte
		binary.BigEndian.PutUint64(id[:], uint64(i))
		l := lease.New(d, id, fmt.Sprintf("bench.%d", i+1), "process", at, lease.MaxTerm)
		data, err := l.Format()
		if err != nil {
			t.Fatal(err)
		}
		blob, err := p.Try(p.Bare, nil, string(data), "git", "hash-object", "-w", "--stdin")
		if err != nil {
			t.Fatal(blob)
		}
		names = append(names, l.Name())
		fmt.Fprintf(&refs, "update %s %s\n", lease.Ref(d), blob[:40])
		for _, ref := range []string{"refs/ward/uow/%s.1", "refs/ward/record/%s.1", "refs/ward/folded/%s.1", "refs/heads/agent/%s"} {
			fmt.Fprintf(&refs, "update "+ref+" %s\n", d, tip)
		}
	}
	if out, err := p.Try(p.Bare, nil, refs.String(), "git", "update-ref", "--stdin"); err != nil {
		t.Fatal(out)
	}
	return p, names
}

// timed is the median of some runs of f, each of which gets its number.
func timed(t *testing.T, runs int, f func(i int) error) time.Duration {
	t.Helper()
	var all []time.Duration
	for i := range runs {
		start := time.Now()
		if err := f(i); err != nil {
			t.Fatal(err)
		}
		all = append(all, time.Since(start))
	}
	return benchtest.Median(all)
}

// TestBenchManyParts measures what grows with the number of directives at work, each part
// by itself: what breaks first where there are a thousand.
func TestBenchManyParts(t *testing.T) {
	slow(t)
	benchtest.Only(t)
	for _, n := range []int{10, 100, 1000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			p, names := crowded(t, n)
			for _, packed := range []bool{false, true} {
				how := "loose"
				if packed {
					p.Run(p.Bare, "git", "pack-refs", "--all")
					how = "packed"
				}
				partsOf(t, p, names[0], fmt.Sprintf("%d directives at work, %d refs %s: ", n, 5*n, how))
			}
			document(t, p, n)
		})
	}
}

// document measures COMMS.md with a report on each directive.
func document(t *testing.T, p *gittest.Pair, n int) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.Work, "COMMS.md"))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for i := range n {
		if data, _, err = comms.AppendReport(data, comms.NewReport{Time: began, Directive: fmt.Sprintf("D-%d", i+1), Status: comms.Done, Text: "A file was written."}); err != nil {
			t.Fatal(err)
		}
	}
	size := fmt.Sprintf("%d kB", len(data)/1000)
	read := timed(t, 9, func(int) error { comms.Parse(data); return nil })
	benchtest.Row(fmt.Sprintf("%d directives at work: COMMS.md with a report on each, read", n), benchtest.MS(read), size, "")
	benchtest.Row(fmt.Sprintf("%d directives at work: a report appended, on average of all", n), benchtest.MS(time.Since(began)/time.Duration(n)), "", "")
}

// partsOf measures what touches all refs of a repository.
func partsOf(t *testing.T, p *gittest.Pair, worker, what string) {
	t.Helper()
	run := func(dir, name string, args ...string) error {
		out, err := p.Try(dir, nil, "", name, args...)
		if err != nil {
			err = fmt.Errorf("%s %v: %w\n%s", name, args, err, out)
		}
		return err
	}
	plain := filepath.Join(t.TempDir(), "plain.git")
	p.Run(p.Work, "cp", "-a", p.Bare, plain)
	p.Run(plain, "git", "config", "core.hooksPath", "/nonexistent")
	push := func(bare, branch string) time.Duration {
		return timed(t, 7, func(i int) error {
			p.Git("commit", "--quiet", "--allow-empty", "--message", fmt.Sprint(branch, i))
			return run(p.Work, "git", "push", "--quiet", bare, "HEAD:refs/heads/agent/D-1")
		})
	}
	base := push(plain, "plain")
	key, err := os.ReadFile(filepath.Join(p.Bare, token.KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	guarded := timed(t, 7, func(i int) error {
		env := token.Environ(key, token.NewID(time.Now()), "agent", worker) // of the first lease's holder
		p.Git("commit", "--quiet", "--allow-empty", "--message", fmt.Sprint("guarded", i))
		if out, err := p.Try(p.Work, env, "", "git", "push", "--quiet", "origin", "HEAD:refs/heads/agent/D-1"); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return nil
	})
	benchtest.Against(what+"a push of one commit, Ward's hooks", guarded, "no hooks", base)
	each := timed(t, 9, func(int) error { return run(p.Bare, "git", "for-each-ref") })
	benchtest.Against(what+"git for-each-ref", each, "git --version", timed(t, 9, func(int) error { return run(p.Bare, "git", "--version") }))
	gone := timed(t, 5, func(i int) error {
		return run(p.Bare, "git", "update-ref", "-d", fmt.Sprintf("refs/ward/folded/D-%d.1", i+1))
	})
	made := timed(t, 5, func(i int) error {
		return run(p.Bare, "git", "update-ref", fmt.Sprintf("refs/ward/folded/D-%d.1", i+1), "refs/ward/uow/D-1.1")
	})
	benchtest.Against(what+"a ref deleted", gone, "made", made)
	settings, err := config.Load(p.Bare)
	if err != nil {
		t.Fatal(err)
	}
	book := &sandboxlease.Book{Repo: git.Open(p.Bare), Settings: settings, Launcher: "other"}
	free := timed(t, 5, func(int) error { _, err := book.Free(t.Context()); return err })
	benchtest.Row(what+"what is free, asked by a launch", benchtest.MS(free), "", "")
}

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
	slow(t)
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
