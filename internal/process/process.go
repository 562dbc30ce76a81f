// Package process runs a command together with all that it starts, and ends all
// of it: a session of its own, one reader for each stream, SIGTERM, a grace,
// SIGKILL, and a return only when nothing of it is left.
//
// A process group is not enough, because setsid(1) leaves it. Processes that left are found by
// descent, by a variable in their environment, or by being in the same container (sweep.go).
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pipeGrace is how long output is awaited that an escaped process could still write; then the
// pipe is closed.
const pipeGrace = time.Second

// Command is a command line with its limits for Run.
type Command struct {
	Args  []string
	Dir   string
	Env   []string  // the whole environment
	Stdin io.Reader // nil: there is nothing to read
	// Stdout and Stderr take what is printed. Where they are the same there is one
	// pipe, so that lines come in the order in which they were printed. A writer that
	// fails is not written to again, and Run ends the command.
	Stdout, Stderr io.Writer

	Files []*os.File // beside the standard streams, from descriptor 3 on

	User *syscall.Credential // nil: this process's own
	// DieWithThread has the kernel kill the command's first process when the thread
	// that started it ends (prctl(2), PR_SET_PDEATHSIG). Run keeps its thread; who
	// calls Start keeps it himself (runtime.LockOSThread).
	DieWithThread bool
	Tag           string           // NAME=value: added to Env; all that carry it end with the command
	Sweep         func(leader int) // ends what else left the group, before the leader is reaped; may be nil

	Timeout time.Duration // 0: none
	Output  int64         // bytes of both streams together; 0: no bound
	Grace   time.Duration // between SIGTERM and SIGKILL; 0: no SIGTERM
}

// TimeoutError says that a command ran longer than its Timeout and was ended.
type TimeoutError struct{ Limit time.Duration }

func (e *TimeoutError) Error() string { return fmt.Sprintf("it ran longer than %s", e.Limit) }

// OutputError says that a command printed more than its Output bytes and was ended.
type OutputError struct{ Limit int64 }

func (e *OutputError) Error() string { return fmt.Sprintf("more than %d MiB of output", e.Limit>>20) }

// Run runs the command and returns when none of its processes is left. stopped says why it was
// ended early, nil when it ended by itself: the context's cause, a *TimeoutError, an
// *OutputError, or a writer's error. The last two are also returned if the command ended
// before its output was read in full. err means that it could not be started; status is then
// meaningless.
func (c *Command) Run(ctx context.Context) (status Status, stopped, err error) {
	if ctx.Err() != nil {
		return 0, nil, context.Cause(ctx)
	}
	if c.DieWithThread {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	g, err := c.Start()
	if err != nil {
		return 0, nil, err
	}
	var late <-chan time.Time
	if c.Timeout > 0 {
		timer := time.NewTimer(c.Timeout)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-g.Exited():
		status, err = g.End(0)
		return status, g.output.failure(), err
	case <-g.output.failed:
		stopped = g.output.failure()
	case <-late:
		stopped = &TimeoutError{c.Timeout}
	case <-ctx.Done():
		stopped = context.Cause(ctx)
	}
	status, err = g.End(c.Grace)
	return status, stopped, err
}

// Group is a started command: its first process, which leads a session and a process group,
// and all that it starts.
type Group struct {
	cmd    *exec.Cmd
	output *output
	exited chan struct{}
	tag    string
	sweep  func(leader int)
}

// Start starts the command. The caller must call End.
func (c *Command) Start() (*Group, error) {
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.Dir, append([]string{}, c.Env...), c.Stdin // a nil Env would be ours
	if c.Tag != "" {
		cmd.Env = append(cmd.Env, c.Tag)
	}
	cmd.ExtraFiles = c.Files
	cmd.WaitDelay = pipeGrace // somebody who got away may hold the pipe of Stdin
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: c.User}
	if c.DieWithThread {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	out, err := openOutput(c)
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = out.stdout, out.stderr
	err = cmd.Start()
	out.started()
	if err != nil {
		out.close()
		return nil, &notStarted{c.Args[0], c.Dir, err}
	}
	g := &Group{cmd: cmd, output: out, exited: make(chan struct{}), tag: c.Tag, sweep: c.Sweep}
	go func() {
		defer close(g.exited)
		waitUnreaped(g.Leader())
	}()
	return g, nil
}

// Leader is the process id of the command's first process. It is not reaped before
// End, so the id cannot have passed to a stranger.
func (g *Group) Leader() int { return g.cmd.Process.Pid }

// Exited is closed when the leader has ended.
func (g *Group) Exited() <-chan struct{} { return g.exited }

// End ends all remaining processes, with SIGTERM first if there is a grace period, waits for
// them, and returns how the leader ended.
func (g *Group) End(grace time.Duration) (Status, error) {
	if grace > 0 {
		syscall.Kill(-g.Leader(), syscall.SIGTERM)
		g.waitAll(grace)
	}
	syscall.Kill(-g.Leader(), syscall.SIGKILL)
	if g.sweep != nil {
		g.sweep(g.Leader())
	}
	<-g.exited
	if g.tag != "" {
		EndTagged(g.tag, 0)
	}
	err := g.cmd.Wait()
	g.output.drain(pipeGrace)
	if _, ok := errors.AsType[*exec.ExitError](err); ok || errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	status, _ := g.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return Status(status), err
}

// waitAll waits until the leader has ended and no process holds its output, or until the grace
// is over.
func (g *Group) waitAll(grace time.Duration) {
	over := time.NewTimer(grace)
	defer over.Stop()
	for _, done := range []<-chan struct{}{g.exited, g.output.drained} {
		select {
		case <-done:
		case <-over.C:
			return
		}
	}
}

// waitUnreaped waits for the end of a child and leaves it a zombie.
func waitUnreaped(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// Status is how a process ended, in the form of wait(2).
type Status syscall.WaitStatus

// OK reports whether the process ended by itself with exit 0.
func (s Status) OK() bool { return s == 0 }

// Killed reports whether a signal ended the process.
func (s Status) Killed() bool { return syscall.WaitStatus(s).Signaled() }

// Code is the exit code as a shell reports it: for a signal, 128 plus its number.
func (s Status) Code() int {
	if w := syscall.WaitStatus(s); w.Signaled() {
		return 128 + int(w.Signal())
	}
	return syscall.WaitStatus(s).ExitStatus()
}

// String is `exit 3`, or `killed by signal 9, killed`.
func (s Status) String() string {
	if w := syscall.WaitStatus(s); w.Signaled() {
		return fmt.Sprintf("killed by signal %d, %s", w.Signal(), w.Signal())
	}
	return fmt.Sprintf("exit %d", s.Code())
}
