package launch

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"git-ward/internal/config"
	"git-ward/internal/diag"
)

// TestDefaultState: without --state the agent's directory is below the user's.
func TestDefaultState(t *testing.T) {
	env := func(pairs map[string]string) func(string) string { return func(k string) string { return pairs[k] } }
	for _, test := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"XDG_STATE_HOME": "/s", "HOME": "/h"}, `^/s/ward/repo-[0-9a-f]{8}$`},
		{map[string]string{"XDG_STATE_HOME": "s", "HOME": "/h"}, `^/h/\.local/state/ward/repo-[0-9a-f]{8}$`},
		{map[string]string{"HOME": "/h"}, `^/h/\.local/state/ward/repo-[0-9a-f]{8}$`},
	} {
		got, err := DefaultState("/srv/repo.git", env(test.env))
		if err != nil || !regexp.MustCompile(test.want).MatchString(got) {
			t.Errorf("%v: %q, %v", test.env, got, err)
		}
	}
	_, err := DefaultState("/srv/repo.git", env(nil))
	var hinted *diag.Hinted
	if !errors.As(err, &hinted) || hinted.Hint != "name one with --state DIR" {
		t.Errorf("%v: %+v", err, hinted)
	}
}

// TestPrepareState: what a launcher that was killed while it copied the settings left goes.
func TestPrepareState(t *testing.T) {
	bare, state := t.TempDir(), t.TempDir()
	left := filepath.Join(filepath.Dir(configCopy(state)), ".config.toml.ward-1234")
	for _, path := range []string{filepath.Join(bare, config.Path), left} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := prepareState(state, bare); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it stays: %v", err)
	}
}

// TestStateInMemory: a rootless agent cannot fill its container's memory by what it writes.
func TestStateInMemory(t *testing.T) {
	s := config.Default()
	for _, c := range []struct{ state, memory, want int64 }{{10 << 30, 4 << 30, 2 << 30}, {1 << 30, 4 << 30, 1 << 30}} {
		s.Sandbox.StateSize, s.Sandbox.Memory = c.state, c.memory
		if got := sizeInMemory(s); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
	const want = "rootless: /bot is in memory, up to 2.5 GiB ([sandbox] state_size, and half of memory), and goes with the container; what is pushed stays"
	if got := stateInMemory(5 << 29); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
