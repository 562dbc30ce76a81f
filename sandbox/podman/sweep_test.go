package podman_test

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/await"
	"git-ward/internal/flock"
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

// TestSweepBesideMaker: a network of Ward's without a process goes with the next sweep of
// whatever launch, but not while any launch of the machine has podman make one.
func TestSweepBesideMaker(t *testing.T) {
	tier.Full(t, "it starts podman")
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root's network namespaces are mounted where others see them")
	}
	ids := []syscall.SysProcIDMap{{HostID: int(podman.DefaultIDs.Base), Size: int(podman.DefaultIDs.Size)}}
	holder := exec.Command("sleep", "100")
	holder.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNET, UidMappings: ids, GidMappings: ids, Pdeathsig: syscall.SIGKILL}
	if err := os.MkdirAll("/run/netns", 0o755); err != nil {
		t.Fatal(err)
	}
	maker, err := flock.Within(t.Context(), "/run/netns", flock.Shared, time.Minute) // other launches sweep, too
	if err == nil {
		defer maker.Close()
		err = holder.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("/run/netns/netns-ward-test-%d", holder.Process.Pid)
	err = os.WriteFile(path, nil, 0o600)
	if err == nil {
		err = unix.Mount(fmt.Sprintf("/proc/%d/ns/net", holder.Process.Pid), path, "", unix.MS_BIND, "")
	}
	t.Cleanup(func() {
		unix.Unmount(path, unix.MNT_DETACH)
		os.Remove(path)
	})
	holder.Process.Kill()
	holder.Wait()
	if err != nil {
		t.Fatal(err)
	}
	engine := connect(t, "sweeps")
	there := func() bool {
		t.Helper()
		if _, err := engine.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err := os.Stat(path)
		return err == nil
	}
	if !there() {
		t.Error("it is gone while one is made")
	}
	maker.Close()
	await.True(t, "it is gone, when no launch of the machine makes one", func() bool { return !there() })
}
