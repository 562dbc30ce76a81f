package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// termGrace is how long a command may tidy up after SIGTERM.
	termGrace = 2 * time.Second
	// pipeGrace is how long output is awaited that a process outside the group
	// could still write.
	pipeGrace = time.Second
)

// callTag marks the processes of one command in their environment, so that those
// which left the process group are found as well.
const callTag = "WARD_CALL="

// Command is a command line that is run to its end, together with all that it
// starts.
type Command struct {
	Args    []string
	Dir     string
	Env     []string  // the whole environment
	Stdin   *os.File  // nil: there is nothing to read
	Tee     io.Writer // gets what the command prints on stdout, too; may be nil
	Timeout time.Duration

	Kind  string // begins the name of the file that its output goes to: kinds
	Logs  string // the folder of that file
	Size  int    // bytes of output kept at hand, half from its beginning, half from its end
	Limit int64  // bytes of output that it may make before it is stopped
}

// Outcome is how a command ended and what it printed.
type Outcome struct {
	*capture
	state   *os.ProcessState
	stopped string // why the agent ended it, "" when it did not
}

// OK reports whether the command ended by itself with exit 0.
func (o *Outcome) OK() bool { return o.stopped == "" && o.state.Success() }

// End says how the command ended.
func (o *Outcome) End() string {
	status, _ := o.state.Sys().(syscall.WaitStatus)
	switch {
	case o.stopped != "":
		return "stopped: " + o.stopped
	case status.Signaled():
		return fmt.Sprintf("killed by signal %d, %s", status.Signal(), status.Signal())
	}
	return fmt.Sprintf("exit %d", o.state.ExitCode())
}

// Run runs the command in a session of its own and returns when nothing of it is
// left. A process that leaves both the group and its environment behind gets
// away; in the container it ends with the container.
func (c *Command) Run(ctx context.Context) (*Outcome, error) {
	out, err := newCapture(c.Logs, c.Kind, c.Size, c.Limit)
	if err != nil {
		return nil, err
	}
	defer out.close()
	ends, drained, err := c.pipes(out)
	if err != nil {
		return nil, err
	}
	defer ends.close()
	tag := callTag + out.id
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env = c.Dir, append(c.Env[:len(c.Env):len(c.Env)], tag)
	if c.Stdin != nil { // a nil *os.File is not a nil io.Reader
		cmd.Stdin = c.Stdin
	}
	cmd.Stdout, cmd.Stderr = ends.stdout, ends.stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	ends.started()
	if err != nil {
		return nil, fmt.Errorf("%s does not start: %w", c.Args[0], err)
	}

	o := &Outcome{capture: out, stopped: c.await(ctx, cmd.Process.Pid, out, drained)}
	// The leader is not reaped yet, so its id cannot have passed to a stranger.
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	EndTagged(tag, 0)
	select {
	case <-drained:
	case <-time.After(pipeGrace):
		ends.close() // somebody got away and holds the pipe
		<-drained
	}
	o.state = cmd.ProcessState
	return o, ctx.Err()
}

// await returns when the command's leader has ended, or when it has to be ended
// and why. On timeout the group is asked first; drained tells that nobody is
// left who could tidy up.
func (c *Command) await(ctx context.Context, pid int, out *capture, drained <-chan struct{}) string {
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		waitNoReap(pid)
	}()
	timeout := time.NewTimer(c.Timeout)
	defer timeout.Stop()
	reason := ""
	select {
	case <-exited:
		return ""
	case <-out.full:
		return out.why
	case <-timeout.C:
		reason = fmt.Sprintf("it ran longer than %s", c.Timeout)
	case <-ctx.Done():
		reason = "the agent was stopped"
	}
	syscall.Kill(-pid, syscall.SIGTERM)
	select {
	case <-drained:
	case <-time.After(termGrace):
	}
	return reason
}

// waitNoReap waits for the end of a child and leaves it a zombie.
func waitNoReap(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
