package store

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"git-ward/agent/stop"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/gate"
)

// push pushes commit to a branch. It returns nil if the branch is there, and stop.Refused if
// the remote refused to move it, for a finding or a lost race: the caller reads the branch to
// know which. Any other error is trouble on the way.
//
// Git's sentences are not read, because they change with version and language. A line that
// begins with `!` in the porcelain output is the remote's answer about the branch; without one
// the push never got so far.
func (c *clone) push(ctx context.Context, commit, branch string) error {
	return c.pushTo(ctx, []string{commit + ":refs/heads/" + branch})
}

func (c *clone) pushTo(ctx context.Context, refspecs []string, more ...string) error {
	args := append([]string{"push", "--porcelain", "--no-verify", "--no-signed"}, more...)
	if c.store.pushOptions {
		args = append(args, "--push-option="+gate.AsJSON)
	}
	args = append(append(args, "origin"), refspecs...)
	stdout, stderr, err := c.throughDoor(ctx, args)
	if err == nil || ctx.Err() != nil {
		return err
	}
	answer := rejection(stdout)
	if answer == "" {
		return err
	}
	return readRefusal(stderr, answer)
}

// throughDoor runs git push. Where there is a door, git has the connection as a descriptor
// (git-remote-fd(1)), and begins neither a shell nor this program for it, as a model's git does.
func (c *clone) throughDoor(ctx context.Context, args []string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	env := c.store.Environ()
	var files []*os.File
	if c.store.Door != "" {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", c.store.Door)
		if err != nil {
			return "", "", diag.Hint(fmt.Errorf("the door is not there: %w", err), "pushes go through `git ward launch` on the host; is it running?")
		}
		defer conn.Close()
		file, err := conn.(*net.UnixConn).File()
		if err != nil {
			return "", "", err
		}
		defer file.Close()
		files = append(files, file)
		env = append(env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=remote.origin.pushUrl", "GIT_CONFIG_VALUE_0=fd::3")
		args = slices.Insert(args, 1, "--receive-pack=git-receive-pack")
	}
	cmd := git.Command(ctx, c.dir, env, args...)
	cmd.ExtraFiles = files
	return c.store.finish(ctx, cmd, "", args[0])
}

// rejection is the remote's word on a branch that it did not move, "" for none.
func rejection(porcelain string) string {
	for line := range strings.Lines(porcelain) {
		if rest, ok := strings.CutPrefix(line, "!\t"); ok {
			_, word, _ := strings.Cut(strings.TrimSpace(rest), "\t")
			return word
		}
	}
	return ""
}

// readRefusal makes an error from the remote hooks' output: a Ward remote's findings, any
// other's lines, or at least git's reason.
func readRefusal(stderr, answer string) error {
	a, lines := gate.Read(stderr)
	switch {
	case a == nil:
	case a.Verdict == gate.Admitted:
		// Nothing is wrong with what was pushed, so it is kept, and pushed again.
		return fmt.Errorf("git push: the remote admitted the push, and could not move the ref then: %s", diag.Clean(answer))
	case a.Verdict == gate.Refused:
		return refused(a)
	default:
		// The host's trouble, which a model cannot fix.
		return fmt.Errorf("git push: the remote could not judge the push: the verdict is %.80q", a.Verdict)
	}
	if len(lines) == 0 {
		lines = []string{diag.Clean(answer)}
	}
	return stop.Refuse(strings.Join(lines, "\n") + "\n")
}

func refused(a *gate.Answer) *stop.Stop {
	var b strings.Builder
	diag.WriteText(&b, a.Findings)
	if more := a.Count - len(a.Findings); more > 0 {
		fmt.Fprintf(&b, "... and %d more findings\n", more)
	}
	return stop.Refuse(b.String(), a.Findings...)
}
