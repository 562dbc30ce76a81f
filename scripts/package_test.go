package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/tier"
)

// built makes the package of stand-ins for the programs, in a directory of its own.
func built(t *testing.T, from string) string {
	t.Helper()
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("SKIPPED: there is no dpkg-deb; packages are Debian's")
	}
	out := t.TempDir()
	run(t, 0, "package", "--from", from, "--out", out)
	found, err := filepath.Glob(filepath.Join(out, "*"))
	if err != nil || len(found) != 1 || !strings.HasSuffix(found[0], ".deb") {
		t.Fatalf("%v %v", found, err)
	}
	return found[0]
}

// The same programs of the same commit make the same bytes, whenever and in whatever
// directory.
func TestPackageIsReproducible(t *testing.T) {
	tier.Full(t, "the programs, built twice")
	from := programs(t, "one")
	var packages [2][]byte
	for i := range packages {
		data, err := os.ReadFile(built(t, from))
		if err != nil {
			t.Fatal(err)
		}
		packages[i] = data
	}
	if string(packages[0]) != string(packages[1]) {
		t.Errorf("%d and %d bytes that differ", len(packages[0]), len(packages[1]))
	}
}

// dpkg installs the package, what it installs runs, and removes all of it.
func TestPackageInstalls(t *testing.T) {
	tier.Full(t, "a package, built and installed")
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: dpkg installs as root")
	}
	deb := built(t, programs(t, "one"))
	root := t.TempDir()
	for _, name := range []string{"var/lib/dpkg/status", "var/lib/dpkg/available"} {
		write(t, filepath.Join(root, name), "", 0o644)
	}
	for _, dir := range []string{"info", "updates", "triggers"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dpkg := func(args ...string) {
		t.Helper()
		// Its scripts run outside of the new root, which has no shell; its git is this machine's.
		cmd := exec.Command("dpkg", append([]string{"--root=" + root, "--force-script-chrootless", "--force-depends", "--log=/dev/null"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("dpkg %q: %v\n%s", args, err, out)
		}
	}
	dpkg("--install", deb)
	if got := says(t, filepath.Join(root, "usr")); got != "git-ward one" {
		t.Errorf("it says %q", got)
	}
	for _, path := range []string{"lib/systemd/system/ward-launch@.service", "lib/systemd/user/ward-launch@.service", "share/doc/ward/copyright", "share/doc/ward/changelog.gz"} {
		if _, err := os.Stat(filepath.Join(root, "usr", path)); err != nil {
			t.Error(err)
		}
	}
	dpkg("--install", deb) // again
	dpkg("--purge", "ward")
	if _, err := os.Stat(filepath.Join(root, "usr")); err == nil {
		t.Errorf("left:\n%s", tree(t, filepath.Join(root, "usr")))
	}
}

// Debian's own reader of packages finds no error in it.
func TestPackageIsLinted(t *testing.T) {
	tier.Full(t, "a package, built and linted")
	lintian, err := exec.LookPath("lintian")
	if err != nil {
		t.Skip("SKIPPED: there is no lintian (apt-get install lintian)")
	}
	out, err := exec.Command(lintian, "--allow-root", "--fail-on", "error", "--suppress-tags", "unusual-interpreter", built(t, programs(t, "one"))).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
