package doctor

import (
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/config"
	"git-ward/internal/gittest"
)

// A runtime that the settings name and that is not here is missing, with what installs it.
func TestRuntime(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	for _, c := range []struct {
		runtime, there string // there: a program, which says this
		state          State
		mend           string
	}{
		{"runsc", "", Missing, "go install gvisor.dev"},
		{"crun", "runc", Missing, "apt-get install crun"},
		{"krun", "", Missing, "libkrun"},
		{"runc", "runc", Fine, ""},
		{"runsc", "runsc", Fine, ""},
		{"runsc", "runsc version 0.0~20221219.0", Missing, "go install gvisor.dev"},
		{"runsc", "runsc version release-20230102.0", Fine, ""},
		{"runsc", "runsc version VERSION_MISSING", Fine, ""},
	} {
		if c.there != "" {
			program, _, _ := strings.Cut(c.there, " ")
			gittest.Program(t, filepath.Join(dir, program), "#!/bin/sh\necho "+c.there+"\n")
		}
		settings := config.Default()
		settings.Sandbox.Runtime = c.runtime
		found := Runtime(t.Context(), settings)
		if len(found) != 1 || found[0].State != c.state || !strings.Contains(found[0].Mend, c.mend) {
			t.Errorf("%s: %+v, want %s, %s", c.runtime, found, c.state, c.mend)
		}
	}
}
