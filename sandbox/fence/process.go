package fence

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"git-ward/internal/process"
	"git-ward/protocols/boot"
)

// stopPatience is how long a payload may take to end after SIGTERM.
const stopPatience = 5 * time.Second

// runProcesses runs the watcher, and by it the agent, as processes of their own and
// waits for their end. When ctx is cancelled first they get SIGTERM and, after
// stopPatience, SIGKILL. They do not outlive a launcher that is killed itself.
//
// The forwarder to the gateway runs in front of them, as in the fence (SBX-8).
func (l *launch) runProcesses(ctx context.Context) error {
	cmd := l.processes(ctx)
	// The death signal follows the thread that started the child, not the
	// process (prctl(2)): keep that thread for as long as the child lives.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Run()
	if cmd.ProcessState == nil {
		if ctx.Err() != nil {
			return Exit(128 + int(syscall.SIGTERM))
		}
		return fmt.Errorf("the agent does not start: %w", err)
	}
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	return processEnd(cmd.ProcessState.Sys().(syscall.WaitStatus), ctx.Err() != nil)
}

// processes is the command line of the forwarder with all that it starts.
func (l *launch) processes(ctx context.Context) *exec.Cmd {
	s := &l.spec
	args := []string{"--gateway", l.gateway, "--", s.Programs.Watcher, "--agent", s.Programs.Agent,
		"--bare", s.Bare, "--state", s.State, "--door", l.door, "--config", configCopy(s.State), "--model", s.Payload.Model}
	if s.Payload.Once {
		args = append(args, "--once")
	}
	cmd := exec.CommandContext(ctx, s.Programs.Forwarder, args...)
	cmd.Dir = s.State
	cmd.Env = l.processEnv()
	cmd.Stdout, cmd.Stderr = s.Payload.Stdout, s.Payload.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	process.EndGroup(cmd, syscall.SIGTERM, stopPatience)
	return cmd
}

// processEnv is all that an unfenced agent sees of the launcher's environment: keys
// and tokens of the user's session are not its business.
func (l *launch) processEnv() []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home(l.spec.State), "LANG=C.UTF-8", boot.UntilVar + "=" + l.untilText()}
	if tmp := os.Getenv("TMPDIR"); tmp != "" {
		env = append(env, "TMPDIR="+tmp)
	}
	return env
}

// processEnd is a launch's end for its processes'. Death by a signal that nobody
// here sent is trouble; where it was asked for, the shell's code for it is enough.
func processEnd(status syscall.WaitStatus, asked bool) error {
	switch {
	case status.Signaled() && asked:
		return Exit(128 + int(status.Signal()))
	case status.Signaled():
		return killedBy(status.Signal())
	case status.ExitStatus() > 128 && !asked: // how the forwarder says that a signal ended the watcher
		return killedBy(syscall.Signal(status.ExitStatus() - 128))
	case status.ExitStatus() != 0:
		return Exit(status.ExitStatus())
	}
	return nil
}
