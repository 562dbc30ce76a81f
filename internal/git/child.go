package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"git-ward/internal/failpoint"
	"git-ward/internal/lines"
	"git-ward/internal/process"
)

// Child is a git process before its start. Ward starts git only here (ONE-4): the constructor
// chooses the environment, and Start applies the limits. The one exception is git of the
// supervisor's, which runs as another user and is started by Line.
type Child struct {
	*exec.Cmd
	limits Limits
}

// child is the only constructor. The end of the context asks the whole process group to end,
// because a killed git leaves its locks, and the next could not begin.
func child(ctx context.Context, dir string, env, args []string) *Child {
	line := Line(args...)
	c := &Child{Cmd: exec.CommandContext(ctx, line[0], line[1:]...)}
	c.Dir, c.Env = dir, env
	process.EndGroup(c.Cmd, syscall.SIGTERM, 5*time.Second)
	return c
}

// Line is a command line of git for a supervisor that starts it as another user. Its
// environment is Harden's.
func Line(args ...string) []string { return append([]string{"git"}, quiet(args)...) }

// Command runs git with the caller's environment, which Harden makes safe. The settings of
// that environment's user hold.
func Command(ctx context.Context, dir string, env []string, args ...string) *Child {
	return child(ctx, dir, Harden(env), args)
}

// Child runs git for a person in the working tree, or below it. Only commands that go to
// another repository may use a transport.
func (c *Checkout) Child(ctx context.Context, dir string, args ...string) *Child {
	env := c.Env
	if !Transports(args[0]) {
		env = Local(env)
	}
	return child(ctx, dir, slices.Clip(env), c.args(args))
}

// Transports reports whether a command of git goes to another repository.
func Transports(name string) bool {
	return slices.Contains([]string{"fetch", "push", "ls-remote"}, name)
}

// Serve runs receive-pack or upload-pack on the host: with a scrubbed environment and the
// repository's hooks, which are Ward's. GIT_DIR is unset, because both take the repository as
// an argument, and receive-pack sets it for the hooks.
func (r *Repo) Serve(ctx context.Context, verb string) *Child {
	c := child(ctx, r.Dir, without(r.base(), "GIT_DIR"), []string{verb, r.Dir})
	c.limits = r.Limits
	return c
}

// Init makes a bare repository without a template.
func Init(ctx context.Context, dir, branch string) error {
	c := child(ctx, "", Elsewhere(Open("").Environ()), []string{"init", "--quiet", "--bare", "--initial-branch=" + branch, "--template=", "--object-format=sha1", dir})
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	if err := c.Run(); err != nil {
		return ChildError(ctx, "init", err, said.Bytes())
	}
	return nil
}

// AtTerminal lets the child ask its user at the terminal: it stays in the caller's process
// group.
func (c *Child) AtTerminal() *Child {
	c.SysProcAttr = nil
	process.EndGently(c.Cmd, 5*time.Second)
	return c
}

// Unattended keeps the child, and an ssh that it starts, from prompting.
func (c *Child) Unattended() *Child {
	c.Env = append(c.Env, "GIT_TERMINAL_PROMPT=0")
	process.EndGroup(c.Cmd, syscall.SIGTERM, time.Second)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return c
}

// Start starts the child and puts its limits on. It cannot have done anything large in the
// microseconds between.
func (c *Child) Start() error {
	failpoint.Reach("git/child")
	if err := c.Cmd.Start(); err != nil {
		return fmt.Errorf("git does not start: %w", err)
	}
	if err := c.limits.apply(c.Process.Pid); err != nil {
		c.Process.Kill()
		c.Wait()
		return err
	}
	return nil
}

// Run is Start and Wait.
func (c *Child) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.Wait()
}

// Output is Run with what the child printed. Its error is an *exec.ExitError with git's
// words, where git ended with another exit code than 0.
func (c *Child) Output() ([]byte, error) {
	var out bytes.Buffer
	errs := lines.Head{Most: 64 << 10}
	c.Stdout = &out
	if c.Stderr == nil {
		c.Stderr = &errs
	}
	err := c.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		exit.Stderr = errs.Bytes()
	}
	return out.Bytes(), err
}
