package command

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/gittest"
	"git-ward/sandbox/doctor"
)

// What a machine lacks is exit 1.
func TestWriteFindingsJSON(t *testing.T) {
	found := []doctor.Finding{
		{Thing: "git", State: doctor.Fine, Detail: "/usr/bin/git"},
		{Thing: "podman", State: doctor.Missing, Detail: "podman is not \x1b[31minstalled", Mend: "apt-get install podman"},
	}
	var lines strings.Builder
	if err := writeFindingsJSON(&lines, found); !errors.Is(err, cli.ErrFindings) {
		t.Error(err)
	}
	for line := range strings.Lines(lines.String()) {
		var f doctor.Finding
		if err := json.Unmarshal([]byte(line), &f); err != nil || f.Thing == "" {
			t.Error(err, line)
		}
	}
}

// Where settings choose another runtime, doctor wants that one and not runc.
func TestChosenRuntime(t *testing.T) {
	programs, bare := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(programs, "crun"):  "#!/bin/sh\n",
		filepath.Join(bare, config.Path): "[sandbox]\nruntime = \"crun\"\n",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), gittest.WriteProgram(path, text)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", programs)
	for _, c := range []struct {
		args    []string
		missing bool
	}{{nil, true}, {[]string{"--bare", bare}, false}} {
		var out strings.Builder
		env := &cli.Env{Args: append(c.args, "--json"), Getenv: os.Getenv, Stdout: &out, Stderr: &out, Dir: bare}
		if err := examine(t.Context(), env); !errors.Is(err, cli.ErrFindings) { // nothing else is there
			t.Error(err)
		}
		var runtimes []doctor.Finding
		for line := range strings.Lines(out.String()) {
			var f doctor.Finding
			if err := json.Unmarshal([]byte(line), &f); err != nil {
				t.Fatal(err, line)
			}
			if strings.Contains(f.Thing, "run") {
				runtimes = append(runtimes, f)
			}
		}
		if len(runtimes) != 1 || strings.Contains(runtimes[0].Detail, "runc is not installed") != c.missing {
			t.Errorf("%v: %+v", c.args, runtimes)
		}
	}
}
