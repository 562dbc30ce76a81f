package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/protocols/boot"
)

// leave is how long the agent may take to end after SIGTERM.
const leave = 5 * time.Second

// program is the agent's name in the directory of binaries.
const program = "ward-agent"

// supervisor and forwarder are the names of the programs in front of it.
const (
	supervisor = "ward-watcher"
	forwarder  = "ward-inside"
)

// runAgent runs the watcher, and by it the agent, as processes of their own and
// waits for their end. When ctx is cancelled first they get SIGTERM and, after
// leave, SIGKILL. They do not outlive a launcher that is killed itself.
//
// The forwarder to the gateway runs in front of them, as in the fence (SBX-8).
func (s *Spec) runAgent(ctx context.Context, door, gateway string) error {
	args := append([]string{"--gateway", gateway, "--", s.Watcher, "--agent", s.Agent}, s.agentArgs(door)...)
	cmd := exec.CommandContext(ctx, s.Forwarder, args...)
	cmd.Dir = s.State
	cmd.Env = s.agentEnv()
	cmd.Stdout, cmd.Stderr = s.Stdout, s.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = leave

	// The death signal follows the thread that started the child, not the
	// process (prctl(2)): keep that thread for as long as the child lives.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Run()
	if cmd.ProcessState == nil {
		if ctx.Err() != nil {
			return cli.ExitCode(128 + int(syscall.SIGTERM))
		}
		return fmt.Errorf("the agent does not start: %w", err)
	}
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	return exitOf(cmd.ProcessState.Sys().(syscall.WaitStatus), ctx.Err() != nil)
}

func (s *Spec) agentArgs(socket string) []string {
	args := []string{"--bare", s.Bare, "--state", s.State, "--door", socket, "--config", s.configCopy(), "--model", s.Model}
	if s.Once {
		args = append(args, "--once")
	}
	return args
}

// agentEnv is all that the agent sees of the launcher's environment: keys and
// tokens of the user's session are not its business.
func (s *Spec) agentEnv() []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.home(), "LANG=C.UTF-8", boot.UntilVar + "=" + s.untilText()}
	if tmp := os.Getenv("TMPDIR"); tmp != "" {
		env = append(env, "TMPDIR="+tmp)
	}
	return env
}

// untilText is when [budget] time is spent, for who works inside.
func (s *Spec) untilText() string { return s.until.UTC().Format(time.RFC3339Nano) }

// exitOf is the launcher's end for the agent's. Death by a signal that nobody
// here sent is trouble; the shell's code for it is enough when asked for.
func exitOf(status syscall.WaitStatus, asked bool) error {
	switch {
	case status.Signaled() && asked:
		return cli.ExitCode(128 + int(status.Signal()))
	case status.Signaled():
		return died(status.Signal())
	case status.ExitStatus() > 128 && !asked: // the forwarder's word for a signal
		return died(syscall.Signal(status.ExitStatus() - 128))
	case status.ExitStatus() != 0:
		return cli.ExitCode(status.ExitStatus())
	}
	return nil
}

// death is the end of what ran by a signal that nobody here sent.
type death syscall.Signal

func (d death) Error() string { return fmt.Sprintf("the agent died: %v", syscall.Signal(d)) }

func died(signal syscall.Signal) error {
	return diag.Hint(death(signal), "launch again: it continues from the repository's refs")
}
