package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/sandbox/fence"
)

// launchLog is where a detached launcher writes, below the repository.
const launchLog = "ward/launch.log"

// detach starts the launcher again as a process of its own session, with its
// output in the launch log, and returns when that one holds the lock or ended.
func detach(ctx context.Context, env *cli.Env, bare string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	path := filepath.Join(bare, launchLog)
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(self, withoutDetach(env.Args)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			return diag.Hint(fmt.Errorf("the launcher ended at once (%v)", err), "`git ward launch logs --bare %s` shows why", bare)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
		if pid, running := fence.Running(bare); running && pid == cmd.Process.Pid {
			fmt.Fprintf(env.Stdout, "launched as process %d\nnext: git ward status, git ward launch logs -f, git ward launch stop, each with --bare %s\n", pid, bare)
			return nil
		}
	}
}

// withoutDetach are the arguments for the launcher in the background.
func withoutDetach(args []string) []string {
	return append([]string{"launch"}, slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		return strings.TrimLeft(arg, "-") == "detach"
	})...)
}

// stop is `git ward launch stop`: it asks the launcher to end in good order and
// waits for it.
func stop(ctx context.Context, env *cli.Env) error {
	bare, err := bareFlag(env, "launch stop", "launch stop --bare DIR", nil)
	if err != nil {
		return err
	}
	pid, running := fence.Running(bare)
	if !running {
		fmt.Fprintln(env.Stdout, "nothing runs")
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	for start := time.Now(); time.Since(start) < 30*time.Second; {
		if _, running := fence.Running(bare); !running {
			fmt.Fprintf(env.Stdout, "process %d ended\n", pid)
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
	return diag.Hint(fmt.Errorf("process %d did not end in 30 seconds", pid), "`kill -9 %d` ends it and everything of it", pid)
}

// logs is `git ward launch logs [-f]`: what a detached launcher and its agent
// wrote; -f goes on until interrupted.
func logs(ctx context.Context, env *cli.Env) error {
	var follow bool
	bare, err := bareFlag(env, "launch logs", "launch logs --bare DIR [-f]", func(fs *flag.FlagSet) {
		fs.BoolVar(&follow, "f", false, "go on as the log grows")
	})
	if err != nil {
		return err
	}
	f, err := os.Open(filepath.Join(bare, launchLog))
	if errors.Is(err, fs.ErrNotExist) {
		return diag.Hint(errors.New("there is no log: nothing was launched with --detach"), "git ward launch --detach --bare %s", bare)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		if _, err := io.Copy(env.Stdout, f); err != nil || !follow {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}
