// Package supervisor starts the agent's commands: as the agent's user, within limits, and one at a time. It
// ends each with all processes that it started (BOOT-2, BOOT-5). It watches the agent itself until it ends
// or must be ended (BOOT-4).
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/process"
)

// Grace is the time between SIGTERM and SIGKILL.
const Grace = 3 * time.Second

// Supervisor starts the agent's processes. Its children die with the thread that starts them,
// so all are started from one goroutine that keeps its thread (runtime.LockOSThread).
type Supervisor struct {
	program   string              // ward-watcher, by whose verb Limited every command begins
	user      *syscall.Credential // the agent's; nil: the watcher's own
	processes uint64              // limit of the agent's user's processes; 0: none
	alone     bool                // runs in a container with no other processes but the first
}

// Become makes this process a supervisor: it becomes a subreaper where necessary, and drops what children
// must not inherit. program is ward-watcher's path, user the id of the agent's user and group, 0 for the
// watcher's own.
func Become(program string, user int) (*Supervisor, error) {
	s := &Supervisor{program: program, processes: processesFor(user)}
	if user != 0 {
		s.user = &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}
	}
	s.alone = user != 0 && os.Getuid() != 0 && os.Getppid() == 1 && firstIsForwarder()
	if !s.alone {
		// Orphans of the agent are reparented to this process, to be ended with the agent. In
		// the fence they go to the first process.
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil || user == 0 {
			return s, err
		}
	}
	// Children inherit capabilities through the ambient set. Clearing it leaves this process its own
	// capabilities, and its children none.
	if _, _, errno := syscall.AllThreadsSyscall6(syscall.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0, 0); errno != 0 {
		return nil, fmt.Errorf("the capabilities cannot be kept from the agent: %w", errno)
	}
	// No process of the agent's may trace this one, or its children before they have changed
	// to the agent's user.
	return s, unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

// firstIsForwarder reports whether process 1 is the fence's init. If so, the supervisor kills all other
// processes, which must not happen on a machine without a fence.
func firstIsForwarder() bool {
	name, err := os.ReadFile("/proc/1/comm")
	return err == nil && string(name) == "ward-inside\n"
}

// Command is a command line of the agent's user.
type Command struct {
	Args   []string
	Dir    string
	Env    []string   // in addition to the watcher's own
	Files  []*os.File // from descriptor 3 on
	Stdin  string
	Output io.Writer     // gets stdout and stderr; nil: discarded
	Limit  int64         // bytes of output; 0: none
	Time   time.Duration // 0: none
}

// Run runs a command to its end, and ends all processes that it left behind. The error says how the command
// failed, or why it was ended.
func (s *Supervisor) Run(ctx context.Context, c Command) error {
	return ended(s.command(c).Run(ctx))
}

// ended turns the end of a command into an error.
func ended(status process.Status, stopped, err error) error {
	switch {
	case err != nil:
		return err
	case stopped != nil:
		return stopped
	case !status.OK():
		return errors.New(status.String())
	}
	return nil
}

// Concurrently runs a command while the agent runs. At its end it ends only the command's own process
// group, not the agent.
func (s *Supervisor) Concurrently(ctx context.Context, c Command) error {
	p := s.command(c)
	p.Sweep = nil
	return ended(p.Run(ctx))
}

func (s *Supervisor) command(c Command) *process.Command {
	p := &process.Command{
		Args: append(s.limitedArgs(), c.Args...), Dir: c.Dir, Env: append(os.Environ(), c.Env...),
		Files: c.Files, Stdout: c.Output, Stderr: c.Output, Output: c.Limit,
		User: s.user, DieWithThread: true, Sweep: process.SweepDescendants, Timeout: c.Time, Grace: Grace,
	}
	if c.Stdin != "" {
		p.Stdin = strings.NewReader(c.Stdin)
	}
	if s.alone {
		p.Sweep = process.SweepContainer
	}
	return p
}

// uid is the agent's user id.
func (s *Supervisor) uid() uint32 {
	if s.user == nil {
		return uint32(os.Getuid())
	}
	return s.user.Uid
}

// usage returns the use of all the agent's processes and, as own, that of the processes in of. The time of
// dead processes counts for the process that reaped them: the first process or this one.
func (s *Supervisor) usage(of ...int) (all, own use) {
	list := process.Below
	waiters := []int{os.Getpid()}
	if s.alone {
		list, waiters = process.Others, append(waiters, 1)
	}
	for _, p := range list() {
		all.cpu += p.CPU + p.ChildrenCPU
		all.memory += p.Memory
		if slices.Contains(of, p.PID) {
			own.cpu += p.CPU
			own.memory += p.Memory
			own.stopped = own.stopped || p.Stopped
		}
	}
	for _, pid := range waiters {
		if p, ok := process.Read(pid); ok {
			all.cpu += p.ChildrenCPU
		}
	}
	return all, own
}
