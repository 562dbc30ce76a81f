package podman_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"git-ward/internal/process"
	"git-ward/internal/tier"
	"git-ward/sandbox/podman"
)

// TestSweepWithoutNetwork: a killed launch's container whose network namespace is gone, too,
// keeps nobody else from listing theirs, and the next launch of its owner removes it. Podman
// lists nothing at all beside it.
func TestSweepWithoutNetwork(t *testing.T) {
	tier.Full(t, "it starts podman")
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root's network namespaces are mounted where others see them")
	}
	first := connect(t, "without")
	s := spec(t, "sleep 100")
	s.Network = podman.NetworkPublic
	c, err := first.Create(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := c.Init(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	made, _ := process.Read(pid)
	var network unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d/ns/net", pid), &network); err != nil {
		t.Fatal(err)
	}
	for _, p := range []int{made.Parent, pid} { // conmon, which would tell podman
		syscall.Kill(p, syscall.SIGKILL)
		awaitEnd(t, p)
	}
	entries, _ := os.ReadDir("/run/netns")
	removed := 0
	for _, e := range entries {
		var st unix.Stat_t
		path := "/run/netns/" + e.Name()
		if unix.Stat(path, &st) == nil && st.Ino == network.Ino && st.Dev == network.Dev {
			if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
				t.Fatal(err)
			}
			os.Remove(path)
			removed++
		}
	}
	if removed != 1 {
		t.Fatalf("%d network namespaces of %d", removed, network.Ino)
	}
	if n, err := connect(t, "another").Sweep(t.Context()); n != 0 || err != nil {
		t.Errorf("another launch: swept %d, %v", n, err)
	}
	if n, err := connect(t, "without").Sweep(t.Context()); n != 1 || err != nil {
		t.Errorf("the next launch: swept %d, %v", n, err)
	}
}
