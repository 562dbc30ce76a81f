package podman

import (
	"path/filepath"
	"testing"

	"git-ward/internal/gittest"
)

// An image can be built where runc is not, and with runc where it is.
func TestInstalledRuntime(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	for _, c := range []struct{ more, want string }{{"", DefaultRuntime}, {"runsc", "runsc"}, {"crun", "crun"}, {"runc", "runc"}} {
		if c.more != "" {
			gittest.Program(t, filepath.Join(dir, c.more), "#!/bin/sh\n")
		}
		if got := InstalledRuntime(); got != c.want {
			t.Errorf("with %q, too: %s, want %s", c.more, got, c.want)
		}
	}
}
