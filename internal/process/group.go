package process

import (
	"os/exec"
	"syscall"
	"time"
)

// EndGroup prepares a command of exec.CommandContext for a caller that needs its
// pipes, and no more than this of Run: it gets a process group of its own, so that
// Ctrl-C on a terminal leaves it to its caller, and the end of the context sends the
// signal to the whole group. What holds its output for longer than delay after that
// is not waited for.
func EndGroup(cmd *exec.Cmd, signal syscall.Signal, delay time.Duration) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, signal) }
	cmd.WaitDelay = delay
}
