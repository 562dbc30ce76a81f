package sandbox

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
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/hookdir"
)

// launchLog is where a detached launcher writes, below the repository.
const launchLog = "ward/launch.log"

// detach starts the launcher again as a process of its own session, with its
// output in the launch log, and returns when that one holds the lock or ended.
func detach(ctx context.Context, s *Spec, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	path := filepath.Join(s.Bare, launchLog)
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(self, args...)
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
			return diag.Hint(fmt.Errorf("the launcher ended at once (%v)", err), "`git ward launch logs --bare %s` shows why", s.Bare)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
		if pid, running := holder(s.Bare); running && pid == cmd.Process.Pid {
			fmt.Fprintf(s.Stdout, "launched as process %d\nnext: git ward status, git ward launch logs -f, git ward launch stop, each with --bare %s\n", pid, s.Bare)
			return nil
		}
	}
}

// holder is the process that holds a repository's launch lock.
func holder(bare string) (pid int, running bool) {
	f, err := os.Open(filepath.Join(bare, "ward/launch.lock"))
	if err != nil {
		return 0, false
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); err == nil {
		return 0, false // nobody holds it
	}
	pid, _ = lockHolds(f)
	return pid, pid != 0
}

// bareFlag parses the arguments of a command that takes --bare and perhaps more.
func bareFlag(env *cli.Env, name, usage string, more func(*flag.FlagSet)) (string, error) {
	var bare string
	rest, err := env.Flags(name, usage, func(fs *flag.FlagSet) {
		fs.StringVar(&bare, "bare", "", "the bare repository, a `DIR`")
		if more != nil {
			more(fs)
		}
	})
	switch {
	case err != nil:
		return "", err
	case len(rest) > 0:
		return "", env.Usage(usage, "unexpected argument %q", rest[0])
	case bare == "":
		return "", env.Usage(usage, "--bare is missing")
	}
	path, err := filepath.EvalSymlinks(env.Path(bare))
	if err != nil {
		return "", diag.Hint(err, "`git ward init --bare DIR` makes a repository")
	}
	return path, nil
}

// Status is `git ward status`: what runs on a repository.
func Status(ctx context.Context, env *cli.Env) error {
	var asJSON bool
	bare, err := bareFlag(env, "status", "status --bare DIR [--json]", func(fs *flag.FlagSet) {
		fs.BoolVar(&asJSON, "json", false, "one JSON object")
	})
	if err != nil {
		return err
	}
	pid, running := holder(bare)
	work, err := units(ctx, bare)
	if err != nil {
		return err
	}
	gone := hookdir.Gone(ctx, bare)
	if asJSON {
		return diag.WriteJSON(env.Stdout, map[string]any{"bare": bare, "running": running, "pid": pid, "units": work, "hooks": gone})
	}
	if gone != "" {
		fmt.Fprintf(env.Stdout, "warning: %s\n", diag.Clean(gone))
	}
	if running {
		fmt.Fprintf(env.Stdout, "the launcher, process %d, runs on %s\n", pid, bare)
	} else {
		fmt.Fprintf(env.Stdout, "nothing runs on %s\nnext: git ward launch --bare %s\n", bare, bare)
	}
	_, err = fmt.Fprint(env.Stdout, statusText(work))
	return err
}

// Stop is `git ward launch stop`: it asks the launcher to end in good order and
// waits for it.
func Stop(ctx context.Context, env *cli.Env) error {
	bare, err := bareFlag(env, "launch stop", "launch stop --bare DIR", nil)
	if err != nil {
		return err
	}
	pid, running := holder(bare)
	if !running {
		fmt.Fprintln(env.Stdout, "nothing runs")
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	for start := time.Now(); time.Since(start) < 30*time.Second; {
		if _, running := holder(bare); !running {
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

// Logs is `git ward launch logs [-f]`: what a detached launcher and its agent
// wrote; -f goes on until interrupted.
func Logs(ctx context.Context, env *cli.Env) error {
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
