package inside

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"git-ward/internal/cli"
)

// payload is the command that runs in the fence.
type payload struct {
	args           []string
	env            []string
	dir            string
	stdin          io.Reader
	stdout, stderr io.Writer
}

// run runs the payload to its end. Signals go on to it, and not to its group: it
// decides what its children hear.
func (p *payload) run() error {
	cmd := exec.Command(p.args[0], p.args[1:]...)
	cmd.Env, cmd.Dir = p.env, p.dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.stdin, p.stdout, p.stderr
	// A payload does not outlive its forwarder. The death signal follows the
	// thread (prctl(2)), so the thread stays.
	// On a terminal it is in the foreground alone: the terminal's signals reach
	// it once, not a second time by way of this process.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Foreground: p.onTerminal()}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	signals := make(chan os.Signal, 32)
	signal.Notify(signals)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return p.notStarted(err)
	}
	done := make(chan struct{})
	defer close(done)
	go pass(cmd.Process, signals, done)

	status, err := reap(cmd.Process.Pid)
	cmd.Wait() // its process is reaped; this ends what copies its output
	if err != nil {
		return err
	}
	return exitOf(status)
}

func (p *payload) onTerminal() bool {
	if p.stdin != os.Stdin {
		return false
	}
	_, err := unix.IoctlGetTermios(0, unix.TCGETS)
	return err == nil
}

// notStarted ends as a shell does: 127 for what is not there, 126 for what
// cannot run.
func (p *payload) notStarted(err error) error {
	code := cli.ExitCode(126)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		code = 127
	}
	fmt.Fprintln(p.stderr, "ward-inside: error:", err)
	return code
}

// pass hands signals on, without those that are about this process: its
// children's, its writes', the runtime's own, and the terminal's stops.
func pass(child *os.Process, signals <-chan os.Signal, done <-chan struct{}) {
	for {
		select {
		case s := <-signals:
			switch s {
			case unix.SIGCHLD, unix.SIGURG, unix.SIGPIPE, unix.SIGTTIN, unix.SIGTTOU:
			default:
				child.Signal(s)
			}
		case <-done:
			return
		}
	}
}

// reap waits for the payload. The first process of a container also inherits
// every orphan of it, and nobody else would bury them.
func reap(child int) (unix.WaitStatus, error) {
	who := child
	if os.Getpid() == 1 {
		who = -1
	}
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(who, &status, 0, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, fmt.Errorf("waiting for the command: %w", err)
		case pid == child:
			return status, nil
		}
	}
}

// exitOf is the payload's end as the shell writes it.
func exitOf(status unix.WaitStatus) error {
	switch {
	case status.Signaled():
		return cli.ExitCode(128 + int(status.Signal()))
	case status.ExitStatus() != 0:
		return cli.ExitCode(status.ExitStatus())
	}
	return nil
}
