package git

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"git-ward/internal/diag"
)

// ChildError makes an error of a git child that did not exit 0, from its standard error. A
// signal is named: git prints nothing then, and silence must not look like success (GIT-6).
func ChildError(ctx context.Context, name string, err error, stderr []byte) error {
	if ctx.Err() != nil {
		return fmt.Errorf("git %s: stopped at the deadline (%w)", name, context.Cause(ctx))
	}
	return &childError{name, words(stderr), err}
}

// childWords is ChildError for an error that carries the child's words.
func childWords(ctx context.Context, name string, err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return ChildError(ctx, name, err, exit.Stderr)
	}
	return ChildError(ctx, name, err, nil)
}

type childError struct {
	command string
	words   diag.Untrusted
	err     error
}

func (e *childError) Error() string {
	var exit *exec.ExitError
	switch ended := errors.As(e.err, &exit) && exit.Exited(); {
	case e.words == "":
		return fmt.Sprintf("git %s: %v", e.command, e.err)
	case ended:
		return fmt.Sprintf("git %s: %s", e.command, e.words)
	}
	return fmt.Sprintf("git %s: %v: %s", e.command, e.err, e.words)
}

func (e *childError) Unwrap() error { return e.err }

// SaidNo reports whether git, or Ward, answered no, with exit code 1. Any other code is a failure.
func SaidNo(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == 1
}

// words are what a child of git said, on one line of at most 4 KiB: it quotes names
// and messages of whoever made the objects.
func words(stderr []byte) diag.Untrusted {
	text := strings.TrimSpace(string(stderr))
	return diag.Untrusted(strings.ReplaceAll(text[:min(len(text), 4<<10)], "\n", "; "))
}
