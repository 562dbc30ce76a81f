package podman

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/flock"
)

// networks is where root's podman mounts network namespaces. An ordinary user's are in
// podman's own mount namespace and vanish with it.
const networks = "/run/netns/netns-*"

// unusedFor is how long a network namespace must be empty before it counts as abandoned,
// because podman removes one after its container's end.
const unusedFor = 3 * time.Second

// removeNetworks removes the network of a container whose podman was killed before it recorded
// it, so that no podman removes it and its bridge is never empty. It removes mounts of Ward's
// that stay empty for a while. A file without a mount does not show its owner, and stays.
func removeNetworks() {
	first := unusedNetworks()
	if len(first) == 0 {
		return
	}
	time.Sleep(unusedFor)
	lock, err := flock.Within(context.Background(), filepath.Dir(networks), flock.Exclusive, 0)
	if lock != nil {
		defer lock.Close()
	}
	if err != nil {
		return // some launch is filling or removing one now; which one is unknown
	}
	for path, id := range unusedNetworks() {
		if first[path] == id && unix.Unmount(path, unix.MNT_DETACH) == nil {
			os.Remove(path)
		}
	}
}

// busy keeps all launches on the machine from removing a network until over is called, because
// one that podman is making or removing is empty. Without the directory there is no network
// and no lock.
func busy(ctx context.Context) (over func()) {
	if os.Geteuid() != 0 {
		return func() {}
	}
	lock, _ := flock.Within(ctx, filepath.Dir(networks), flock.Shared, unusedFor)
	return func() { lock.Close() } // Close accepts a nil file
}

// unusedNetworks are the inodes, by path, of Ward's network namespaces without a process.
func unusedNetworks() map[string]uint64 {
	found, _ := filepath.Glob(networks)
	if os.Geteuid() != 0 || len(found) == 0 {
		return nil
	}
	used, unused := networksInUse(), map[string]uint64{}
	for _, path := range found {
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		var st unix.Stat_t
		if unix.Fstat(int(f.Fd()), &st) == nil && !used[st.Ino] && made(f) {
			unused[path] = st.Ino
		}
		f.Close()
	}
	return unused
}

// nsGetOwner is ioctl_ns(2)'s NS_GET_USERNS, which x/sys does not have.
const nsGetOwner = 0xb701

// made reports whether Ward made a network namespace. Its user namespace maps Ward's range of
// ids, which no other program uses.
func made(network *os.File) bool {
	fd, err := unix.IoctlRetInt(int(network.Fd()), nsGetOwner)
	if err != nil {
		return false // no namespace
	}
	owner := os.NewFile(uintptr(fd), "user namespace")
	defer owner.Close()
	cmd := exec.Command("nsenter", "--user=/proc/self/fd/3", "--preserve-credentials", "--", "cat", "/proc/self/uid_map")
	cmd.ExtraFiles = []*os.File{owner}
	ids, err := cmd.Output()
	return err == nil && slices.Equal(strings.Fields(string(ids)), strings.Fields(fmt.Sprint(0, DefaultIDs.Base, DefaultIDs.Size)))
}

// networksInUse are the inodes of all processes' network namespaces.
func networksInUse() map[uint64]bool {
	links, _ := filepath.Glob("/proc/[0-9]*/ns/net")
	used := map[uint64]bool{}
	for _, link := range links {
		var st unix.Stat_t
		if unix.Stat(link, &st) == nil {
			used[st.Ino] = true
		}
	}
	return used
}
