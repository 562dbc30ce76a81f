package inside

import (
	"fmt"
	"os"
	"runtime"
	"slices"

	"git-ward/sandbox/pod"
	"git-ward/sandbox/probe"

	"golang.org/x/sys/unix"
)

// heed reads the note on a pod's fence and has the probe try what the fence refuses.
func (p *Payload) heed() error {
	note, err := pod.Read(p.Note)
	if err != nil || p.Probe == nil {
		return err
	}
	p.Probe.Hosts = append(slices.Clone(p.Probe.Hosts), note.Hosts...)
	p.Probe.Refused = append(slices.Clone(p.Probe.Refused), note.Refused...)
	if p.Probe.Resolver == "" && p.Probe.Egress == "public" {
		p.Probe.Resolver = note.Resolver
	}
	return nil
}

// Become starts this program again, with args after its name, as another user and group
// that keeps root's rights of the container's: an engine of Kubernetes gives rights to root
// alone. What it may ask of the kernel is narrowed. It returns only with an error.
func Become(id int, args []string) error {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	toOwners(string(data))
	runtime.LockOSThread() // capabilities and filters belong to a thread, and exec ends all others
	if err := keepRights(id); err != nil {
		return fmt.Errorf("cannot become user %d with this user's rights: %w", id, err)
	}
	if err := narrow(); err != nil {
		return err
	}
	return unix.Exec("/proc/self/exe", append(os.Args[:1:1], args...), os.Environ())
}

// toOwners makes individually mounted files writable only by their owner. The engine makes
// such a file, for instance for a container's termination message, on the node's disk without
// a size limit. If the mode cannot be changed, the probe reports the file.
func toOwners(mountinfo string) {
	for _, at := range probe.Mounts(mountinfo) {
		if info, err := os.Lstat(at); err == nil && info.Mode().IsRegular() {
			os.Chmod(at, info.Mode().Perm()&^0o022)
		}
	}
}

// keepRights changes this thread's user and keeps its capabilities, as ambient ones over an
// exec (capabilities(7)).
func keepRights(id int) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return err
	}
	for i := range sets {
		sets[i].Effective, sets[i].Inheritable = sets[i].Permitted, sets[i].Permitted
	}
	if err := unix.Prctl(unix.PR_SET_KEEPCAPS, 1, 0, 0, 0); err != nil {
		return err
	}
	// For this thread only, so it uses raw system calls; the library's wrappers change all
	// threads.
	for _, set := range [][2]uintptr{{unix.SYS_SETGROUPS, 0}, {unix.SYS_SETRESGID, uintptr(id)}, {unix.SYS_SETRESUID, uintptr(id)}} {
		if _, _, errno := unix.RawSyscall(set[0], set[1], set[1], set[1]); errno != 0 {
			return errno
		}
	}
	if err := unix.Capset(&header, &sets[0]); err != nil {
		return err
	}
	for right := range unix.CAP_LAST_CAP + 1 {
		if sets[right/32].Permitted&(1<<(right%32)) == 0 {
			continue
		}
		if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, uintptr(right), 0, 0); err != nil {
			return err
		}
	}
	return nil
}
