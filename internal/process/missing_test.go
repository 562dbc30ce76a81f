package process

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"git-ward/internal/gittest"
)

// TestMissing: a program that is not there, that may not be executed, or that is of another kind of
// machine is missing; a directory that is gone is another trouble.
func TestMissing(t *testing.T) {
	dir := t.TempDir()
	plain, foreign := filepath.Join(dir, "plain"), filepath.Join(dir, "foreign")
	if err := os.WriteFile(plain, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	gittest.Program(t, foreign, "\x7fELF\x02\x01\x01 of no machine")
	for program, missing := range map[string]bool{"no-such-program-of-mine": true, "./no/such/program": true, plain: true, foreign: true} {
		if err := (&Command{Args: []string{program}, Dir: dir}).start(); Missing(err) != missing || err == nil {
			t.Errorf("%s: %v", program, err)
		}
	}
	if err := (&Command{Args: []string{"/bin/sh"}, Dir: filepath.Join(dir, "gone")}).start(); err == nil || Missing(err) {
		t.Errorf("the directory is gone: %v", err)
	}
	if Missing(fs.ErrNotExist) {
		t.Error("an error of something else is no program that is missing")
	}
}

// start starts the command, which must not run.
func (c *Command) start() error {
	g, err := c.Start()
	if err == nil {
		g.End(0)
	}
	return err
}
