package inside

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// shut are the system calls that fail in a pod. The engines' own filters differ by version:
// some allow sockets to the hypervisor (AF_VSOCK), rings that bypass any filter (io_uring), or
// calls that only other filters refuse. This filter is added to the engine's and can only
// narrow it.
var shut = []uint32{
	unix.SYS_CLONE3, // so that programs use clone for threads, whose flags a filter sees
	unix.SYS_SETNS, unix.SYS_UNSHARE,
	unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSOPEN, unix.SYS_FSPICK, unix.SYS_MOUNT, unix.SYS_MOUNT_SETATTR,
	unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_PIVOT_ROOT, unix.SYS_UMOUNT2,
	unix.SYS_MQ_OPEN, // a queue outlives its creator, and no file system shows it
	unix.SYS_ADD_KEY, unix.SYS_KEYCTL, unix.SYS_REQUEST_KEY,
	unix.SYS_IO_URING_SETUP, unix.SYS_MEMFD_SECRET, unix.SYS_PIDFD_GETFD, unix.SYS_USERFAULTFD, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN,
}

// transports are the Internet protocols that a fence allows.
var transports = []uint32{0, unix.IPPROTO_ICMP, unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_ICMPV6, unix.IPPROTO_MPTCP}

const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// architectures are the kernel's names of Ward's platforms. Programs of another architecture
// use other numbers for the same calls.
var architectures = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// otherNumbers is where amd64's second set of numbers begins (x32).
const otherNumbers = 0x40000000

// Offsets in what a filter sees (seccomp(2)): the call's number, the architecture, and the
// lower half of an argument.
const (
	number       = 0
	architecture = 4
	arguments    = 16
)

// The return values of a filter.
const (
	allow     = unix.SECCOMP_RET_ALLOW
	refuse    = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	notThere  = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	loadWord  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	equal     = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	atLeast   = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	anyBit    = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	answerNow = unix.BPF_RET | unix.BPF_K
)

// narrow installs the filter on this thread and on everything that it starts, for good.
func narrow() error {
	arch, known := architectures[runtime.GOARCH]
	if !known {
		return fmt.Errorf("there is no filter of system calls for %s", runtime.GOARCH)
	}
	f := filter(arch)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0); err != nil {
		return fmt.Errorf("the kernel takes no filter of system calls: %w", err)
	}
	return nil
}

// filter is the program (bpf(4)); a jump's offset counts the skipped instructions.
func filter(arch uint32) []unix.SockFilter {
	f := []unix.SockFilter{
		{Code: loadWord, K: architecture},
		{Code: equal, K: arch, Jt: 1}, {Code: answerNow, K: notThere},
		{Code: loadWord, K: number},
		{Code: atLeast, K: otherNumbers, Jf: 1}, {Code: answerNow, K: notThere},
	}
	for _, call := range shut {
		f = append(f, unix.SockFilter{Code: equal, K: call, Jf: 1}, unix.SockFilter{Code: answerNow, K: notThere})
	}
	f = append(f, call(unix.SYS_CLONE,
		unix.SockFilter{Code: loadWord, K: arguments},
		unix.SockFilter{Code: anyBit, K: namespaces, Jf: 1}, unix.SockFilter{Code: answerNow, K: refuse},
		unix.SockFilter{Code: answerNow, K: allow})...)
	f = append(f, call(unix.SYS_SOCKET, sockets()...)...)
	return append(f, unix.SockFilter{Code: answerNow, K: allow})
}

// call checks one system call and ends with a result.
func call(nr uint32, steps ...unix.SockFilter) []unix.SockFilter {
	return append([]unix.SockFilter{{Code: equal, K: nr, Jf: uint8(len(steps))}}, steps...)
}

// sockets allows unix sockets, netlink for the kernel's addresses, and Internet sockets of the
// allowed transports.
func sockets() []unix.SockFilter {
	f := []unix.SockFilter{
		{Code: loadWord, K: arguments},
		{Code: equal, K: unix.AF_UNIX, Jf: 1}, {Code: answerNow, K: allow},
		{Code: equal, K: unix.AF_NETLINK, Jf: 4},
		{Code: loadWord, K: arguments + 16},
		{Code: equal, K: unix.NETLINK_ROUTE, Jf: 1}, {Code: answerNow, K: allow},
		{Code: answerNow, K: refuse},
		{Code: equal, K: unix.AF_INET, Jt: 2}, {Code: equal, K: unix.AF_INET6, Jt: 1}, {Code: answerNow, K: refuse},
		{Code: loadWord, K: arguments + 16},
	}
	for _, t := range transports {
		f = append(f, unix.SockFilter{Code: equal, K: t, Jf: 1}, unix.SockFilter{Code: answerNow, K: allow})
	}
	return append(f, unix.SockFilter{Code: answerNow, K: refuse})
}
