package podman_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"git-ward/internal/tier"
	"git-ward/sandbox/lab"
)

// TestRootless runs this package's other tests again as an ordinary user. A
// mount namespace of its own gives the user a /dev/net/tun with the mode that
// udev gives it, and shared mounts, without a change to the machine.
func TestRootless(t *testing.T) {
	tier.Full(t, "it starts podman")
	if os.Getuid() != 0 {
		t.Skip("these tests are rootless already")
	}
	connect(t, "probe") // skips without bindings
	u := lab.OrdinaryUser(t)
	if _, err := imageName(); err != nil { // so that the archive is there
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/var/tmp", "wr-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	binary := filepath.Join(dir, "podman.test")
	copyFile(t, os.Args[0], binary)
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	for _, d := range []string{dir, filepath.Join(dir, "run"), filepath.Join(dir, "tmp")} {
		os.Mkdir(d, 0o700)
		if err := os.Chown(d, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	script := fmt.Sprintf(`set -e
mount --make-rshared /
mknod -m 666 %[1]s/tun c 10 200
mount --bind %[1]s/tun /dev/net/tun
cd %[1]s
exec setpriv --reuid %[2]s --regid %[3]s --init-groups env -i PATH="$PATH" HOME=%[1]s TMPDIR=%[1]s/tmp WARD_TEST_DIR=%[1]s XDG_RUNTIME_DIR=%[1]s/run \
	./podman.test -test.v -test.run '^(%[4]s)$'
`, dir, u.Uid, u.Gid, "TestOrder|TestStartWithoutInit|TestStartAfterDeath|TestInside|TestCapabilities|TestStreams|TestProcesses|TestPublicNetwork|TestWarnings|TestDisk|TestClose|TestKill")
	cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script)
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("rootless: %v", err)
	}
	t.Logf("%s", out)
}

func copyFile(t *testing.T, from, to string) {
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}
