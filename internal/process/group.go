package process

import (
	"os/exec"
	"syscall"
	"time"
)

// EndGroup prepares a command of exec.CommandContext for a caller that needs its pipes and so
// cannot use Run. The command gets its own process group, so that Ctrl-C at a terminal reaches
// only the caller, and the end of the context signals the whole group. Output that is still
// held open after delay is not waited for.
func EndGroup(cmd *exec.Cmd, signal syscall.Signal, delay time.Duration) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, signal) }
	cmd.WaitDelay = delay
}

// EndGently prepares a command that may ask its user at the terminal, and so stays in the
// caller's process group: the end of the context asks it to end, which git does in good
// order, its locks and half-written files removed; after the delay it is killed.
func EndGently(cmd *exec.Cmd, delay time.Duration) {
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = delay
}
