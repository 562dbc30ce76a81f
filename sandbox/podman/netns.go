package podman

import (
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// netnsDir is where root's podman mounts its containers' network namespaces.
const netnsDir = "/run/netns"

// unusedFor is how long a network namespace has nobody in it before it is nobody's: others'
// that are just being made are in use then.
const unusedFor = 3 * time.Second

// networks are the network namespaces that podman has mounted. An ordinary user's are in
// podman's own mount namespace, and go with it.
func networks() map[string]bool {
	found, _ := filepath.Glob(netnsDir + "/netns-*")
	all := map[string]bool{}
	for _, path := range found {
		all[path] = os.Geteuid() == 0
	}
	return all
}

// removeNetworks removes a network that podman did not live to write down: one that was not
// there before, in which nobody is, now and in a while.
func removeNetworks(before map[string]bool) {
	unused := func() map[string]bool {
		used, all := networksInUse(), networks()
		for path := range all {
			var st unix.Stat_t
			if before[path] || unix.Stat(path, &st) != nil || used[st.Ino] || !all[path] {
				delete(all, path)
			}
		}
		return all
	}
	first := unused()
	if len(first) == 0 {
		return
	}
	time.Sleep(unusedFor)
	for path := range unused() {
		if first[path] {
			unix.Unmount(path, unix.MNT_DETACH)
			os.Remove(path)
		}
	}
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
