package podman

import (
	"os"
	"path/filepath"
	"testing"
)

// An image can be built where runc is not, and with runc where it is.
func TestInstalledRuntime(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	for _, c := range []struct{ more, want string }{{"", DefaultRuntime}, {"runsc", "runsc"}, {"crun", "crun"}, {"runc", "runc"}} {
		if c.more != "" {
			if err := os.WriteFile(filepath.Join(dir, c.more), []byte("#!/bin/sh\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if got := InstalledRuntime(); got != c.want {
			t.Errorf("with %q, too: %s, want %s", c.more, got, c.want)
		}
	}
}
