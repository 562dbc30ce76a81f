package podman

import (
	"runtime"
	"slices"

	"github.com/containers/common/pkg/seccomp"
	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"
)

// shut are calls that podman's default profile allows, because they are safe on a flawless
// kernel, but that nobody in a fence needs. In its own user namespace any program is root over
// mounts, interfaces and packet rules, where most recent kernel vulnerabilities were. Keyrings
// are shared with the host's users; secret memory, 16-bit segments and other processes' files
// only widen the kernel's attack surface; socketcall hides its arguments from a filter.
var shut = []string{
	"clone3", "setns", "unshare",
	"fsconfig", "fsmount", "fsopen", "fspick", "mount", "mount_setattr", "move_mount", "open_tree", "pivot_root", "umount", "umount2",
	"add_key", "keyctl", "request_key",
	"memfd_secret", "modify_ldt", "pidfd_getfd",
	"socketcall",
	"clone", "socket", // allowed again, with conditions
}

// families are the socket families that the fence's rules see, and netlink's part for reading
// addresses. Others bypass the rules: vsock reaches the hypervisor, and packet and XDP sockets
// work below them.
var families = []uint64{unix.AF_INET, unix.AF_INET6}

// transports are their protocols: 0 is the socket type's default. The rules pass no others,
// and a kernel that is not asked for UDP-Lite or SCTP loads no module for them.
var transports = []uint64{0, unix.IPPROTO_ICMP, unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_ICMPV6, unix.IPPROTO_MPTCP}

// namespaces are clone's flags for new namespaces (clone(2)).
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// seccompProfile is podman's default profile without the calls in shut, as an OCI runtime
// takes it.
func seccompProfile(oci *ociRuntime) ([]byte, error) {
	p := seccomp.DefaultProfile()
	for _, s := range p.Syscalls {
		s.Names = slices.DeleteFunc(s.Names, func(name string) bool {
			return slices.Contains(shut, name) || oci.onlyEPERM && name == "ptrace"
		})
	}
	p.Syscalls = slices.DeleteFunc(p.Syscalls, func(s *seccomp.Syscall) bool { return len(s.Names) == 0 })
	allow := func(name string, args ...*seccomp.Arg) {
		p.Syscalls = append(p.Syscalls, &seccomp.Syscall{Names: []string{name}, Action: seccomp.ActAllow, Args: args})
	}
	equal := func(index uint, value uint64) *seccomp.Arg {
		return &seccomp.Arg{Index: index, Value: value, Op: seccomp.OpEqualTo}
	}
	allow("socket", equal(0, unix.AF_UNIX))
	for _, family := range families {
		for _, transport := range transports {
			allow("socket", equal(0, family), equal(2, transport))
		}
	}
	allow("socket", equal(0, unix.AF_NETLINK), equal(2, unix.NETLINK_ROUTE))
	flags := uint(0)
	if runtime.GOARCH == "s390x" {
		flags = 1
	}
	allow("clone", &seccomp.Arg{Index: flags, Value: namespaces, Op: seccomp.OpMaskedEqual})
	p.Syscalls = append(p.Syscalls, notThere("clone3", oci.onlyEPERM))
	return json.Marshal(p)
}

// notThere makes a call fail with ENOSYS, because C libraries fall back from clone3 to clone,
// whose flags a filter can see. A runtime that turns all refusals into EPERM still returns
// ENOSYS for a call that is to be traced while there is no tracer (seccomp(2),
// SECCOMP_RET_TRACE), and without ptrace there never is one.
func notThere(name string, onlyEPERM bool) *seccomp.Syscall {
	if onlyEPERM {
		return &seccomp.Syscall{Names: []string{name}, Action: seccomp.ActTrace}
	}
	errno := uint(unix.ENOSYS)
	return &seccomp.Syscall{Names: []string{name}, Action: seccomp.ActErrno, Errno: "ENOSYS", ErrnoRet: &errno}
}
