package command

import (
	"bytes"
	"cmp"
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
	"git-ward/internal/logfile"
	"git-ward/internal/runstate"
	"git-ward/protocols/lease"
	"git-ward/sandbox/launch"
)

// launchLog is a detached launcher's log, relative to the repository. Beyond maxLog bytes it
// is renamed to launch.log.1 and starts anew.
const (
	launchLog = "ward/launch.log"
	maxLog    = 16 << 20
)

// backgroundFlag tells a launcher that detach started it.
const backgroundFlag = "background"

// startPatience is how long a detached launcher may take to start its payload. An image's
// first container on a slow disk takes long.
const startPatience = time.Minute

// detach starts the launcher again in a session of its own, with its output in the launch log.
// It returns when the payload runs or the launcher has ended.
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
	for start := time.Now(); ; {
		select {
		case err := <-ended:
			return diag.Hint(fmt.Errorf("the launcher ended at once (%v)", err), "`git ward launch --logs --bare %s` shows why", diag.Word(bare))
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
		if pid, running := runstate.Running(bare); running && pid == cmd.Process.Pid && (runstate.Up(bare) || time.Since(start) > startPatience) {
			if !runstate.Up(bare) {
				fmt.Fprintln(env.Stdout, "warning: nothing runs in this launch yet; git ward launch --logs -f says why")
			}
			fmt.Fprintf(env.Stdout, "launched as process %d\nnext: git ward status, git ward launch --logs -f, git ward launch --stop, each with --bare %s\n", pid, diag.Word(bare))
			return nil
		}
	}
}

// logToFile sends a background launcher's output to its repository's launch log, the trace of
// a panic included.
func logToFile(env *cli.Env, bare string) (*logfile.File, error) {
	log, err := logfile.Open(filepath.Join(env.Path(bare), launchLog), maxLog, 0o600)
	if err != nil {
		return nil, err
	}
	if err := log.Lead(1, 2); err != nil {
		log.Close()
		return nil, err
	}
	env.Stdout, env.Stderr = diag.NewScreen(log), diag.NewScreen(log)
	return log, nil
}

// withoutDetach returns the arguments for the launcher in the background.
func withoutDetach(args []string) []string {
	return append([]string{"launch", "--" + backgroundFlag}, slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		return strings.TrimLeft(arg, "-") == "detach"
	})...)
}

// stop is `git ward launch --stop`: it asks the launcher to terminate and waits for it. With a
// directive it stops only that one's worker.
func stop(ctx context.Context, env *cli.Env) error {
	bare, directive, err := bareAndDirective(ctx, env, "launch --stop [--bare DIR] [D-n]", nil)
	if err != nil {
		return err
	}
	if directive != "" {
		holder, err := launch.StopDirective(ctx, bare, directive)
		if err == nil {
			fmt.Fprintf(env.Stdout, "%s: its worker, %s, ended\nnext: the work goes on when the PM changes its text, or with the next launch\n", directive, diag.Clean(holder))
		}
		return err
	}
	if err := runstate.MayAsk(bare); err != nil {
		return err
	}
	pid, running := runstate.Running(bare)
	if !running {
		fmt.Fprintln(env.Stdout, "nothing runs")
		return nil
	}
	if err := launch.End(bare, pid); err != nil {
		return err
	}
	for start := time.Now(); time.Since(start) < 30*time.Second; {
		if _, running := runstate.Running(bare); !running {
			fmt.Fprintf(env.Stdout, "process %d ended\n", pid)
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
	return diag.Hint(fmt.Errorf("process %d did not end in 30 seconds", pid), "`kill -9 %d` ends it and everything that it started", pid)
}

// bareAndDirective parses the flags of a way of launch that takes a repository and perhaps one
// directive, "" for all.
func bareAndDirective(ctx context.Context, env *cli.Env, usage string, more func(*flag.FlagSet)) (bare, directive string, err error) {
	rest, err := env.Flags("launch", usage, func(fs *flag.FlagSet) {
		cli.Bare(fs, &bare)
		if more != nil {
			more(fs)
		}
	})
	switch {
	case err != nil:
		return "", "", err
	case len(rest) > 1:
		return "", "", env.Usage(usage, "one directive at most, not %d words", len(rest))
	case len(rest) == 1 && !lease.IsDirective(rest[0]):
		return "", "", env.Usage(usage, "%q is no directive such as D-3", rest[0])
	case len(rest) == 1:
		directive = rest[0]
	}
	bare, err = findBare(ctx, env, bare)
	return bare, directive, err
}

// logs is `git ward launch --logs [-f]`: what a detached launcher and its agents printed, or
// the agent on one directive. -f follows until interrupted.
func logs(ctx context.Context, env *cli.Env) error {
	var follow bool
	bare, directive, err := bareAndDirective(ctx, env, "launch --logs [--bare DIR] [-f] [D-n]", func(fs *flag.FlagSet) {
		fs.BoolVar(&follow, "f", false, "go on as the log grows")
	})
	if err != nil {
		return err
	}
	path := filepath.Join(bare, launchLog)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return diag.Hint(errors.New("there is no log: nothing was launched with --detach"), "git ward launch --detach --bare %s", diag.Word(bare))
	}
	if errors.Is(err, fs.ErrPermission) {
		return diag.Hint(err, "ask as the repository's owner")
	}
	if err != nil {
		return err
	}
	defer func() { f.Close() }()
	out, found := env.Stdout, func() error { return nil }
	if directive != "" {
		of := &marked{out: out, mark: []byte(launch.LogMark(directive))}
		out, found = of, func() error { return of.none(bare, directive) }
	}
	if before, err := os.Open(path + ".1"); err == nil {
		_, err = io.Copy(out, before)
		before.Close()
		if err != nil {
			return err
		}
	}
	for {
		if _, err := io.Copy(out, f); err != nil || !follow {
			return cmp.Or(err, found())
		}
		if next, err := begunAnew(f, path); err != nil {
			return err
		} else if next != nil {
			io.Copy(out, f) // output from before the log was renamed
			f.Close()
			f = next
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond): // poll: the kernel does not say that a file grew
		}
	}
}

// marked passes on the whole lines that begin with a mark, without the mark.
type marked struct {
	out  io.Writer
	mark []byte
	line []byte
	some bool
}

func (m *marked) Write(p []byte) (int, error) {
	m.line = append(m.line, p...)
	for {
		line, rest, ended := bytes.Cut(m.line, []byte("\n"))
		if !ended {
			m.line = bytes.Clone(m.line)
			return len(p), nil
		}
		m.line = rest
		if text, ok := bytes.CutPrefix(line, m.mark); ok {
			m.some = true
			if _, err := m.out.Write(append(bytes.Clone(text), '\n')); err != nil {
				return 0, err
			}
		}
	}
}

// none reports that no such line was found.
func (m *marked) none(bare, directive string) error {
	if m.some {
		return nil
	}
	return diag.Hint(fmt.Errorf("no line of the log is marked with %s: the lines of a single agent are unmarked", directive),
		"`git ward launch --logs --bare %s` shows all, `git ward watch %s` what the agent said on it", diag.Word(bare), directive)
}

// begunAnew opens the log at path from its start if that is another file than f by now; else
// it returns nil.
func begunAnew(f *os.File, path string) (*os.File, error) {
	now, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // between two files
	}
	was, problem := f.Stat()
	if err = errors.Join(err, problem); err != nil || os.SameFile(now, was) {
		return nil, err
	}
	return os.Open(path)
}
