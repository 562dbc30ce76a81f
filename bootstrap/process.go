package bootstrap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// termGrace is how long what is told to end may take.
const termGrace = 3 * time.Second

// job is a command that runs to its end as the agent's user.
type job struct {
	dir   string
	env   []string // beside the watcher's own
	stdin string
	time  time.Duration
	out   io.Writer // stdout and stderr
	args  []string
}

// command makes a child of the agent's user, in a session of its own, that dies
// with the watcher. It must be started from the thread that Run keeps: the death
// signal follows the thread (prctl(2)).
func (w *watcher) command(dir string, env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(w.Self, append(limitArgs(w.processes), args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if w.AgentUser != 0 {
		id := uint32(w.AgentUser)
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: id, Gid: id}
	}
	return cmd
}

// runAgent runs a job to its end, and ends all that it left behind.
func (w *watcher) runAgent(ctx context.Context, j job) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p, err := w.start(w.command(j.dir, j.env, j.args...), strings.NewReader(j.stdin), j.out)
	if err != nil {
		return err
	}
	timeout := time.NewTimer(j.time)
	defer timeout.Stop()
	why := error(nil)
	select {
	case <-p.exited:
	case <-timeout.C:
		why = fmt.Errorf("it ran longer than %s", j.time)
	case <-ctx.Done():
		why = context.Cause(ctx)
	}
	status := p.end(w, why != nil)
	switch {
	case why != nil:
		return why
	case status.Signaled():
		return fmt.Errorf("killed by signal %d, %s", status.Signal(), status.Signal())
	case status.ExitStatus() != 0:
		return fmt.Errorf("exit %d", status.ExitStatus())
	}
	return nil
}

// process is a started child of the agent's user.
type process struct {
	cmd     *exec.Cmd
	exited  chan struct{} // closed when the leader ended; it is not reaped yet
	drained chan struct{} // closed when nobody holds its output any more
	read    *os.File
}

// start starts a command with its output joined to out.
func (w *watcher) start(cmd *exec.Cmd, stdin io.Reader, out io.Writer) (*process, error) {
	r, pipe, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, pipe, pipe
	err = cmd.Start()
	pipe.Close()
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("%s does not start: %w", cmd.Args[4], err)
	}
	p := &process{cmd: cmd, exited: make(chan struct{}), drained: make(chan struct{}), read: r}
	go func() {
		defer close(p.drained)
		io.Copy(out, r)
		io.Copy(io.Discard, r) // whoever writes must not block on us
	}()
	go func() {
		defer close(p.exited)
		for {
			err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
			if !errors.Is(err, unix.EINTR) {
				return
			}
		}
	}()
	return p, nil
}

// end ends the process if it runs still, politely first where ask is set, with all
// that it started, and returns how the leader ended.
func (p *process) end(w *watcher, ask bool) syscall.WaitStatus {
	pid := p.cmd.Process.Pid
	if ask {
		syscall.Kill(-pid, syscall.SIGTERM)
		select {
		case <-p.exited:
		case <-time.After(termGrace):
		}
	}
	// Not reaped yet, the leader's id cannot have passed to a stranger.
	syscall.Kill(-pid, syscall.SIGKILL)
	w.killRest(pid)
	<-p.exited
	p.cmd.Wait()
	reapOrphans(0)
	select {
	case <-p.drained:
	case <-time.After(termGrace):
		p.read.Close() // unfenced, somebody got away and holds the pipe
		<-p.drained
	}
	p.read.Close()
	status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return status
}

// killRest kills all that the agent started. In the fence that is everything but
// the first process and this one, and one call reaches it all: no process can fork
// its way past it (kill(2), signal 9 to -1, needs CAP_KILL). Without the fence it
// is what descends from this process.
func (w *watcher) killRest(leader int) {
	if w.fenced {
		for range 100 {
			if errors.Is(syscall.Kill(-1, syscall.SIGKILL), syscall.ESRCH) || len(living(others())) == 0 {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
		return
	}
	for range 100 {
		rest := living(descendants())
		for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
			for _, s := range rest {
				syscall.Kill(s.pid, signal)
			}
		}
		if len(rest) == 0 {
			return
		}
		reapOrphans(leader)
		time.Sleep(5 * time.Millisecond)
	}
}

// reapOrphans buries the dead that were handed to this process as a subreaper,
// but not the child whose end somebody waits for.
func reapOrphans(except int) {
	for _, s := range stats() {
		if s.parent == os.Getpid() && s.pid != except && s.dead {
			syscall.Wait4(s.pid, nil, syscall.WNOHANG, nil)
		}
	}
}

// stat is what proc_pid_stat(5) says of a process; times are in clock ticks.
type stat struct {
	pid, parent int
	dead        bool
	ticks       int64 // its own processor time
	waited      int64 // its dead children's
	memory      int64 // resident, bytes
}

// ticksPerSecond is USER_HZ, which is 100 on every Linux that Go runs on.
const ticksPerSecond = 100

// stats lists the processes that can be seen.
func stats() []stat {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var list []stat
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			data, err := os.ReadFile("/proc/" + name + "/stat")
			if s, ok := parseStat(pid, data); err == nil && ok {
				list = append(list, s)
			}
		}
	}
	return list
}

// parseStat reads the fields behind the command's name, which may hold anything.
func parseStat(pid int, data []byte) (stat, bool) {
	s := stat{pid: pid}
	i := bytes.LastIndexByte(data, ')')
	if i < 0 {
		return s, false
	}
	f := strings.Fields(string(data[i+1:]))
	if len(f) < 22 {
		return s, false
	}
	number := func(i int) int64 { n, _ := strconv.ParseInt(f[i], 10, 64); return n }
	s.dead = f[0] == "Z" || f[0] == "X"
	s.parent = int(number(1))
	s.ticks, s.waited = number(11)+number(12), number(13)+number(14)
	s.memory = number(21) * int64(os.Getpagesize())
	return s, true
}

// others are the processes of the container but the first one and this one.
func others() []stat {
	var list []stat
	for _, s := range stats() {
		if s.pid != 1 && s.pid != os.Getpid() {
			list = append(list, s)
		}
	}
	return list
}

// descendants are the processes that come from this one.
func descendants() []stat {
	all := stats()
	children := map[int][]stat{}
	for _, s := range all {
		children[s.parent] = append(children[s.parent], s)
	}
	var list []stat
	for next := children[os.Getpid()]; len(next) > 0; {
		s := next[0]
		next = append(next[1:], children[s.pid]...)
		list = append(list, s)
	}
	return list
}

func living(list []stat) []stat {
	var out []stat
	for _, s := range list {
		if !s.dead {
			out = append(out, s)
		}
	}
	return out
}
