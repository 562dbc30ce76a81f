package git

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// TestChildError: git's words stand for its exit code, a signal and a deadline are named,
// and only exit code 1 is an answer.
func TestChildError(t *testing.T) {
	ended := func(script string) error { return exec.Command("sh", "-c", script).Run() }
	for _, c := range []struct {
		script, stderr, want string
		no                   bool
	}{
		{"exit 1", "", "git x: exit status 1", true},
		{"exit 1", " a\nb\n", "git x: a; b", true},
		{"exit 128", "fatal: \x1b[31mno\n", `git x: fatal: \x1b[31mno`, false},
		{"kill -9 $$", "", "git x: signal: killed", false},
		{"kill -9 $$", "half a", "git x: signal: killed: half a", false},
	} {
		err := ChildError(t.Context(), "x", ended(c.script), []byte(c.stderr))
		var exit *exec.ExitError
		if err.Error() != c.want || SaidNo(err) != c.no || !errors.As(err, &exit) {
			t.Errorf("%s %q: %q", c.script, c.stderr, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if err := ChildError(ctx, "x", ended("exit 1"), []byte("words")); !errors.Is(err, cause) || !strings.Contains(err.Error(), "deadline") || SaidNo(err) || SaidNo(nil) {
		t.Error(err)
	}
	if err := ChildError(t.Context(), "x", ended("exit 1"), []byte(strings.Repeat("a", 9000))); len(err.Error()) > 5000 {
		t.Error(len(err.Error()))
	}
}
