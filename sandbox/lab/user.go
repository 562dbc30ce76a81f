package lab

import (
	"os"
	"os/exec"
	"os/user"
	"strings"
	"testing"

	"git-ward/internal/flock"
)

// rootless is the user name of rootless tests.
const rootless = "ward-rootless"

// OrdinaryUser returns a user with subordinate ids for user namespaces, and creates it if necessary.
// It skips the test if that is impossible.
func OrdinaryUser(t testing.TB) *user.User {
	t.Helper()
	for _, name := range []string{"unshare", "setpriv", "newuidmap", "slirp4netns", "useradd"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIPPED: rootless tests need %s: %v", name, err)
		}
	}
	// Two test packages may create it at the same time, and neither may see it half made.
	lock, err := flock.Dir("/etc")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	var steps [][]string
	if _, err := user.Lookup(rootless); err != nil {
		steps = append(steps, []string{"useradd", "--system", "--no-create-home", "--home-dir", "/nonexistent", rootless})
	}
	for _, kind := range []string{"subuid", "subgid"} {
		if data, _ := os.ReadFile("/etc/" + kind); !strings.Contains("\n"+string(data), "\n"+rootless+":") {
			steps = append(steps, []string{"usermod", "--add-" + kind + "s", "2000000-2065535", rootless})
		}
	}
	for _, args := range steps {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: no user for rootless tests: %v: %s", err, out)
		}
	}
	u, err := user.Lookup(rootless)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
