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

// networks is where root's podman mounts its containers' network namespaces. An ordinary user's
// are in podman's own mount namespace, and go with it.
const networks = "/run/netns/netns-*"

// unusedFor is how long a network namespace has nobody in it before it is nobody's: podman
// takes one down when its container has ended.
const unusedFor = 3 * time.Second

// removeNetworks removes the network of a container whose podman was killed before it wrote that
// down, so that no podman removes it, and its bridge is never empty: a mount that is of Ward's
// making, and in which nobody is, now and in a while. A file that podman was to mount one on, and
// did not live to, does not say whose it is, and stays.
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
		return // one is filled or cleared now, by whatever launch: which, nobody can tell
	}
	for path, id := range unusedNetworks() {
		if first[path] == id && unix.Unmount(path, unix.MNT_DETACH) == nil {
			os.Remove(path)
		}
	}
}

// busy keeps every launch of the machine from removing a network until over is called: while
// podman makes one, or takes one down, nobody is in it. Where the directory is not there yet,
// there is no network to remove, and no lock to hold.
func busy(ctx context.Context) (over func()) {
	if os.Geteuid() != 0 {
		return func() {}
	}
	lock, _ := flock.Within(ctx, filepath.Dir(networks), flock.Shared, unusedFor)
	return func() { lock.Close() } // Close does nothing to a nil file
}

// unusedNetworks are Ward's network namespaces without a process, their inodes by their paths.
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

// made reports whether a network namespace is of Ward's making. The kernel knows the user
// namespace that it was made in, and no other program gives one Ward's part of the ids.
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

// networksInUse are the inodes of the network namespaces that processes are in.
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
