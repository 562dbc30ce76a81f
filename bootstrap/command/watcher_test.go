package command

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/bootstrap/supervisor"
	"git-ward/internal/cli"
)

func env(dir string, args ...string) (*cli.Env, *bytes.Buffer) {
	var out bytes.Buffer
	return &cli.Env{Program: "ward-watcher", Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Dir: dir, Getenv: func(string) string { return "" }}, &out
}

// TestUsage: what is missing, too much or contradictory is said before anything is
// done.
func TestUsage(t *testing.T) {
	full := []string{"--bare", "b", "--state", "s", "--config", "c", "--agent", "a"}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "--bare, --state and --config are needed"},
		{full[2:], "--bare, --state and --config are needed"},
		{append([]string{"x"}, full...), `unexpected argument "x"`},
		{[]string{supervisor.Verb, "1", "0"}, "two numbers and a command are needed"},
		{[]string{supervisor.Verb, "x", "0", "true"}, "two numbers and a command are needed"},
		{[]string{"--nothing"}, "unknown flag --no"},
	} {
		e, out := env(t.TempDir(), c.args...)
		if err := Watcher(t.Context(), e); !errors.Is(err, cli.ErrUsage) || !strings.Contains(out.String(), c.want) || !strings.Contains(out.String(), "usage: ward-watcher ") {
			t.Errorf("%q: %v, %s", c.args, err, out)
		}
	}
	e, out := env("/", "-h")
	if err := Watcher(t.Context(), e); !errors.Is(err, flag.ErrHelp) || !strings.Contains(out.String(), "--agent-user ID") {
		t.Errorf("%v %s", err, out)
	}
}

// TestOptions: paths are the caller's, settings are read, and an error of theirs
// names the flag.
func TestOptions(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "c"), []byte("[bootstrap]\ncheck = \"3m\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	e, _ := env(dir, "--bare", "b.git", "--state", "/s/", "--config", "c", "--door", "d", "--agent", "/a", "--model", "m", "--once")
	o, err := options(e)
	if err != nil {
		t.Fatal(err)
	}
	if o.Bare != dir+"/b.git" || o.State != "/s" || o.Config != dir+"/c" || o.Door != dir+"/d" || o.Agent != "/a" || o.Model != "m" || !o.Once || o.Self == "" || o.Settings.Bootstrap.Check.Duration != 3*time.Minute {
		t.Errorf("%+v", o)
	}
	e, _ = env(dir, "--bare", "b", "--state", "s", "--config", "none", "--agent", "/a")
	if _, err := options(e); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "--config: ") {
		t.Error(err)
	}
}
