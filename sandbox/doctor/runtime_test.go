package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/config"
)

// A runtime that the settings name and that is not here is missing, with what installs it.
func TestRuntime(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	for _, c := range []struct {
		runtime, there string
		state          State
		mend           string
	}{
		{"runsc", "", Missing, "apt-get install runsc"},
		{"crun", "runc", Missing, "apt-get install crun"},
		{"krun", "", Missing, "libkrun"},
		{"runc", "runc", Fine, ""},
		{"runsc", "runsc", Fine, ""},
	} {
		if c.there != "" {
			if err := os.WriteFile(filepath.Join(dir, c.there), []byte("#!/bin/sh\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		settings := config.Default()
		settings.Sandbox.Runtime = c.runtime
		found := Runtime(settings)
		if len(found) != 1 || found[0].State != c.state || !strings.Contains(found[0].Mend, c.mend) {
			t.Errorf("%s: %+v, want %s, %s", c.runtime, found, c.state, c.mend)
		}
	}
}
