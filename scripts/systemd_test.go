package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"git-ward/internal/tier"
)

// systemd reads the units as they are installed, finds nothing in them that it does not
// know, and holds them for bounded.
func TestUnitsAreVerified(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("SKIPPED: there is no systemd-analyze here")
	}
	tier.First(t, "it installs, and asks systemd")
	// It makes directories in /tmp, whatever TMPDIR says.
	probe, err := os.MkdirTemp("/tmp", "ward-")
	if err != nil {
		t.Skipf("SKIPPED: systemd-analyze wants a /tmp that everybody may write: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(probe) })
	prefix := filepath.Join(t.TempDir(), "local")
	run(t, 0, "install", "--prefix", prefix, "--from", programs(t, "one"))
	for _, c := range []struct {
		dir   string
		flags []string
	}{{"lib/systemd/system", nil}, {"share/systemd/user", []string{"--user"}}} {
		found, err := filepath.Glob(filepath.Join(prefix, c.dir, "*"))
		if err != nil || len(found) != 4 {
			t.Fatalf("%v %v", found, err)
		}
		for _, path := range found {
			cmd := exec.Command(analyze, append(append([]string{"verify", "--man=no"}, c.flags...), path)...)
			cmd.Env = append(cmd.Environ(), "XDG_RUNTIME_DIR="+probe) // short: the machine's own units have sockets there
			if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%s: %v\n%s", filepath.Base(path), err, out)
			}
		}
	}
	// How much of the machine a unit still may touch, in systemd's own count from 0 to 10:
	// what maintenance needs is little; a launch needs what podman needs.
	for unit, most := range map[string]float64{"ward-maintain@.service": 1.5, "ward-forge@.service": 2.5, "ward-launch@.service": 8} {
		cmd := exec.Command(analyze, "security", "--offline=true", "--no-pager", filepath.Join(prefix, "lib/systemd/system", unit))
		out, err := cmd.CombinedOutput()
		_, text, found := strings.Cut(string(out), "Overall exposure level")
		if err != nil || !found {
			t.Fatalf("%s: %v\n%s", unit, err, out)
		}
		_, text, _ = strings.Cut(text, ": ")
		if level, err := strconv.ParseFloat(strings.Fields(text)[0], 64); err != nil || level > most {
			t.Errorf("%s: %v, at most %v: %v", unit, level, most, err)
		}
	}
}
