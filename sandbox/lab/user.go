package lab

import (
	"os/exec"
	"os/user"
	"testing"

	"git-ward/internal/flock"
)

// rootless is who rootless tests run as.
const rootless = "ward-rootless"

// OrdinaryUser is a user with ids of its own for user namespaces, made when
// missing; it skips, out loud, where that cannot be.
func OrdinaryUser(t testing.TB) *user.User {
	t.Helper()
	for _, name := range []string{"unshare", "setpriv", "newuidmap", "slirp4netns", "useradd"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIPPED, out loud: rootless tests need %s: %v", name, err)
		}
	}
	// Two test packages may want it at once, and it is there when all of it is.
	lock, err := flock.Dir("/etc")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if u, err := user.Lookup(rootless); err == nil {
		return u
	}
	for _, args := range [][]string{
		{"useradd", "--system", "--no-create-home", "--home-dir", "/nonexistent", rootless},
		{"usermod", "--add-subuids", "2000000-2065535", "--add-subgids", "2000000-2065535", rootless},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("SKIPPED, out loud: no user for rootless tests: %v: %s", err, out)
		}
	}
	u, err := user.Lookup(rootless)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
