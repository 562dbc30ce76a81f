package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// logLimit is how much output one command may make before it is killed.
	logLimit = 64 << 20
	// termGrace is how long a command may tidy up after SIGTERM.
	termGrace = 2 * time.Second
	// pipeGrace is how long output is awaited that a process outside the group
	// could still write.
	pipeGrace = time.Second
)

// callTag marks the processes of one command in their environment, so that those
// which left the process group are found as well.
const callTag = "WARD_CALL="

type bashArgs struct {
	Command string `json:"command"`
}

func (b *Box) bash() Tool {
	return define("bash",
		fmt.Sprintf("Run a command by `bash -c` at the top of the working tree, for at most %s. Output and errors come back together, "+
			"at most %d bytes of them; the rest is in a file that the result names. Nothing can be typed, and what still runs in the "+
			"background when the command ends is killed.", b.Timeout, b.OutputSize),
		[]param{{name: "command", kind: "string", doc: "the command line"}},
		func(ctx context.Context, a bashArgs) (Result, error) {
			if strings.ContainsRune(a.Command, 0) {
				return fail("the command holds a NUL byte"), nil
			}
			out, err := newCapture(b.logs(), b.OutputSize, logLimit)
			if err != nil {
				return Result{}, err
			}
			defer out.close()
			end, err := b.execute(ctx, a.Command, out)
			if err != nil {
				return Result{}, err
			}
			return Result{Text: out.text() + end.String(), IsError: !end.ok()}, nil
		})
}

// ending is how a command ended.
type ending struct {
	state   *os.ProcessState
	stopped string // why the agent ended it, "" when it did not
}

func (e ending) ok() bool { return e.stopped == "" && e.state.Success() }

func (e ending) String() string {
	status, _ := e.state.Sys().(syscall.WaitStatus)
	switch {
	case e.stopped != "":
		return "[stopped: " + e.stopped + "]"
	case status.Signaled():
		return fmt.Sprintf("[killed by signal %d, %s]", status.Signal(), status.Signal())
	}
	return fmt.Sprintf("[exit %d]", e.state.ExitCode())
}

// execute runs a command in a session of its own and returns when nothing of it
// is left. A process that leaves both the group and its environment behind gets
// away; in the container it ends with the container.
func (b *Box) execute(ctx context.Context, command string, out *capture) (ending, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return ending{}, err
	}
	defer r.Close()
	tag := callTag + out.id
	cmd := exec.Command("bash", "-c", command)
	cmd.Dir, cmd.Env = b.Dir, append(b.Env[:len(b.Env):len(b.Env)], tag)
	cmd.Stdout, cmd.Stderr = w, w
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	w.Close()
	if err != nil {
		return ending{}, fmt.Errorf("bash does not start: %w", err)
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		out.drain(r)
	}()

	e := ending{stopped: b.await(ctx, cmd.Process.Pid, out, drained)}
	// The leader is not reaped yet, so its id cannot have passed to a stranger.
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return ending{}, err
	}
	EndTagged(tag, 0)
	select {
	case <-drained:
	case <-time.After(pipeGrace):
		r.Close() // somebody got away and holds the pipe
		<-drained
	}
	e.state = cmd.ProcessState
	return e, ctx.Err()
}

// await returns when the command's leader has ended, or when it has to be ended
// and why. On timeout the group is asked first; drained tells that nobody is
// left who could tidy up.
func (b *Box) await(ctx context.Context, pid int, out *capture, drained <-chan struct{}) string {
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		waitNoReap(pid)
	}()
	timeout := time.NewTimer(b.Timeout)
	defer timeout.Stop()
	reason := ""
	select {
	case <-exited:
		return ""
	case <-out.full:
		return out.why
	case <-timeout.C:
		reason = fmt.Sprintf("it ran longer than %s", b.Timeout)
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
