package store

import (
	"context"
	"fmt"
	"strings"

	"git-ward/agent/stop"
	"git-ward/internal/diag"
	"git-ward/protocols/gate"
)

// push pushes commit to a branch. It is nil when the branch is there; stop.Refused
// when the remote answered that it will not move it, be it for a finding or a lost
// race: the caller looks where the branch is now to know. Any other error is trouble
// on the way.
//
// Git's sentences are not read: they change with its version and its language. A line
// that begins with `!` in the porcelain output is the remote's word on the branch;
// without one it never got so far.
func (c *clone) push(ctx context.Context, commit, branch string) error {
	return c.pushTo(ctx, []string{commit + ":refs/heads/" + branch})
}

func (c *clone) pushTo(ctx context.Context, refspecs []string, more ...string) error {
	args := append([]string{"push", "--porcelain", "--no-verify", "--no-signed"}, more...)
	if c.store.pushOptions {
		args = append(args, "--push-option="+gate.AsJSON)
	}
	args = append(append(args, "origin"), refspecs...)
	stdout, stderr, err := c.store.runInput(ctx, c.dir, "", args...)
	if err == nil || ctx.Err() != nil {
		return err
	}
	answer := rejection(stdout)
	if answer == "" {
		return err
	}
	return readRefusal(stderr, answer)
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

// readRefusal makes an error of what the remote's hooks printed: the findings of
// a Ward remote, the lines of any other, or at least git's own word.
func readRefusal(stderr, answer string) error {
	a, lines := gate.Read(stderr)
	switch {
	case a == nil:
	case a.Verdict == gate.Admitted:
		// Nothing speaks against what was pushed, so it is kept, and pushed again.
		return fmt.Errorf("git push: the remote admitted the push, and could not move the ref then: %s", diag.Clean(answer))
	case a.Verdict == gate.Refused:
		return refused(a)
	default:
		// The host's trouble, which no model can mend.
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
