package main

import (
	"io"
	"strings"
	"testing"

	"git-ward/internal/cli"
)

// TestRun: under its own name the program is no hook; as one, but not started by git, it
// says so.
func TestRun(t *testing.T) {
	env := &cli.Env{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }}
	if err := run(t.Context(), env); err == nil || !strings.Contains(err.Error(), "this program is installed as pre-receive and post-receive") {
		t.Error(err)
	}
	for _, hook := range []string{"pre-receive", "post-receive"} {
		env.Args = []string{hook}
		if err := run(t.Context(), env); err == nil || !strings.Contains(err.Error(), "GIT_DIR is not set") {
			t.Error(hook, err)
		}
	}
}
