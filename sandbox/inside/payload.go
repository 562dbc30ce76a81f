package inside

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"git-ward/internal/process"

	"golang.org/x/sys/unix"
)

// run runs the payload to its end. Signals are passed to it alone, not to its group: it
// decides what its children get.
func (p *Payload) run(environ []string) (code int, err error) {
	cmd := exec.Command(p.Args[0], p.Args[1:]...)
	cmd.Env, cmd.Dir = environ, p.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Stdin, p.Stdout, p.Stderr
	// A payload does not outlive its forwarder. The parent-death signal follows the thread
	// (prctl(2)), so the thread stays. On a terminal the payload alone is in the foreground,
	// so that the terminal's signals reach it once and not again through this process.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Foreground: p.onTerminal()}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.become(cmd.SysProcAttr); err != nil {
		return 0, err
	}

	signals := make(chan os.Signal, 32)
	signal.Notify(signals)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return p.notStarted(err), nil
	}
	done := make(chan struct{})
	defer close(done)
	go pass(cmd.Process, signals, done)

	status, err := reap(cmd.Process.Pid)
	cmd.Wait() // its process is reaped; this ends the output's copying
	if err != nil {
		return 0, err
	}
	return process.Status(status).Code(), nil
}

func (p *Payload) onTerminal() bool {
	if p.Stdin != os.Stdin {
		return false
	}
	_, err := unix.IoctlGetTermios(0, unix.TCGETS)
	return err == nil
}

// notStarted returns a shell's exit codes: 127 if the program is missing, 126 if it cannot
// run.
func (p *Payload) notStarted(err error) (code int) {
	fmt.Fprintln(p.Stderr, "ward-inside: error:", err)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return 127
	}
	return 126
}

// pass forwards signals, except those about this process: its children's, its writes', the
// runtime's, and the terminal's stops.
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

// reap waits for the payload. A container's first process also inherits every orphan, and must
// reap it.
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
