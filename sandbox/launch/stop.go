package launch

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"git-ward/internal/diag"
	"git-ward/internal/runstate"
)

// End asks the launcher on a repository to end. The pid is the one that runstate.Running returns.
func End(bare string, pid int) error {
	if pid == 0 {
		return diag.Hint(errors.New(runstate.LauncherText(bare, pid)), "stop it where it was started, such as in its container, or end what else has locked %s", runstate.Gate(bare))
	}
	p, err := os.FindProcess(pid) // a pidfd, so that a reused number cannot hit another process
	if err != nil {
		return err
	}
	defer p.Release()
	if now, running := runstate.Running(bare); !running || now != pid {
		return nil // it has ended
	}
	if err := p.Signal(unix.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	return nil
}
