package lab

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Call is a system call, or the opening of a socket, that a program in a sandbox rarely needs. Its
// arguments are invalid for every kernel, so that it has no effect, and its error shows whether the
// sandbox or the kernel answered.
type Call struct {
	Name, Class string
	make        func() syscall.Errno
}

// Answer is the result of a Call.
type Answer string

// The answers: refused by the sandbox, or for lack of privileges, which is as good; missing in this
// kernel; and open, so that it belongs to the reachable surface of the kernel.
const (
	Refused Answer = "refused"
	Missing Answer = "missing"
	Open    Answer = "open"
)

// answer interprets a call's error. EINVAL, EFAULT and EBADF come from the call itself, so it is open.
func answer(errno syscall.Errno) Answer {
	switch errno {
	case unix.EPERM, unix.EACCES, unix.ENOSYS:
		return Refused
	case unix.EAFNOSUPPORT, unix.ESOCKTNOSUPPORT, unix.EPROTONOSUPPORT, unix.EOPNOTSUPP:
		return Missing
	}
	return Open
}

// MakeCalls is the main function of a program. Without an argument it makes all Calls, each in a
// process of its own because a filter may kill it, and prints a line `answer name` for each. With a
// name it makes that call only.
func MakeCalls(args []string, stdout io.Writer) error {
	if len(args) > 0 {
		for _, c := range Calls {
			if c.Name == args[0] {
				_, err := fmt.Fprintln(stdout, answer(c.make()))
				return err
			}
		}
		return fmt.Errorf("no call %q", args[0])
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, c := range Calls {
		out, err := exec.Command(self, "call", c.Name).Output()
		got := strings.TrimSpace(string(out))
		if err != nil {
			if _, ok := errors.AsType[*exec.ExitError](err); !ok {
				return err
			}
			got = string(Refused) // killed by a filter
		}
		fmt.Fprintln(stdout, cmp.Or(got, string(Refused)), c.Name)
	}
	return nil
}

// call returns a system call by number. Arguments that are not given are -1.
func call(class, name string, number uintptr, args ...uintptr) Call {
	all := [6]uintptr{none, none, none, none, none, none}
	copy(all[:], args)
	return Call{name, class, func() syscall.Errno {
		_, _, errno := unix.RawSyscall6(number, all[0], all[1], all[2], all[3], all[4], all[5])
		return errno
	}}
}

const none = ^uintptr(0)

// socket returns a call that opens and closes a socket.
func socket(name string, family, kind, protocol int) Call {
	return Call{"socket " + name, "sockets", func() syscall.Errno {
		fd, err := unix.Socket(family, kind, protocol)
		if err == nil {
			unix.Close(fd)
			return 0
		}
		errno, _ := err.(syscall.Errno)
		return errno
	}}
}

// clone returns a call that starts a process in a new namespace; the process exits at once.
func clone(name string, flag uintptr) Call {
	return Call{"clone " + name, "namespaces and mounts", func() syscall.Errno {
		pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, flag|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if errno == 0 && pid == 0 {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
		return errno
	}}
}

// Calls are the calls by which DESIGN compares sandboxes: those for namespaces and mounts, those that
// affect the kernel, other processes, keys or clocks, and every socket family.
var Calls = []Call{
	clone("user", unix.CLONE_NEWUSER), clone("mount", unix.CLONE_NEWNS), clone("network", unix.CLONE_NEWNET), clone("pid", unix.CLONE_NEWPID),
	call("namespaces and mounts", "unshare user", unix.SYS_UNSHARE, unix.CLONE_NEWUSER|unix.CLONE_NEWNS|unix.CLONE_NEWNET),
	call("namespaces and mounts", "unshare cgroup", unix.SYS_UNSHARE, unix.CLONE_NEWCGROUP),
	call("namespaces and mounts", "unshare ipc", unix.SYS_UNSHARE, unix.CLONE_NEWIPC),
	call("namespaces and mounts", "unshare uts", unix.SYS_UNSHARE, unix.CLONE_NEWUTS),
	call("namespaces and mounts", "unshare time", unix.SYS_UNSHARE, unix.CLONE_NEWTIME),
	call("namespaces and mounts", "setns", unix.SYS_SETNS),
	call("namespaces and mounts", "clone3", unix.SYS_CLONE3, 0, 0),
	call("namespaces and mounts", "mount", unix.SYS_MOUNT, 0, 0, 0, 0, 0),
	call("namespaces and mounts", "umount2", unix.SYS_UMOUNT2, 0, 0),
	call("namespaces and mounts", "pivot_root", unix.SYS_PIVOT_ROOT, 0, 0),
	call("namespaces and mounts", "chroot", unix.SYS_CHROOT, 0),
	call("namespaces and mounts", "fsopen", unix.SYS_FSOPEN, 0, 0),
	call("namespaces and mounts", "fsconfig", unix.SYS_FSCONFIG),
	call("namespaces and mounts", "fsmount", unix.SYS_FSMOUNT),
	call("namespaces and mounts", "fspick", unix.SYS_FSPICK),
	call("namespaces and mounts", "move_mount", unix.SYS_MOVE_MOUNT),
	call("namespaces and mounts", "open_tree", unix.SYS_OPEN_TREE),
	call("namespaces and mounts", "mount_setattr", unix.SYS_MOUNT_SETATTR),

	call("the kernel", "bpf", unix.SYS_BPF, 0, 0, 0),
	call("the kernel", "perf_event_open", unix.SYS_PERF_EVENT_OPEN, 0),
	call("the kernel", "userfaultfd", unix.SYS_USERFAULTFD, none),
	call("the kernel", "io_uring_setup", unix.SYS_IO_URING_SETUP, 1, 0),
	call("the kernel", "io_uring_enter", unix.SYS_IO_URING_ENTER),
	call("the kernel", "io_uring_register", unix.SYS_IO_URING_REGISTER),
	call("the kernel", "kexec_load", unix.SYS_KEXEC_LOAD),
	call("the kernel", "kexec_file_load", unix.SYS_KEXEC_FILE_LOAD),
	call("the kernel", "init_module", unix.SYS_INIT_MODULE, 0, 0, 0),
	call("the kernel", "finit_module", unix.SYS_FINIT_MODULE),
	call("the kernel", "delete_module", unix.SYS_DELETE_MODULE, 0, 0),
	call("the kernel", "reboot", unix.SYS_REBOOT, 0, 0, 0),
	call("the kernel", "swapon", unix.SYS_SWAPON, 0, 0),
	call("the kernel", "swapoff", unix.SYS_SWAPOFF, 0),
	call("the kernel", "syslog", unix.SYS_SYSLOG, none),
	call("the kernel", "acct", unix.SYS_ACCT, 1),
	call("the kernel", "quotactl", unix.SYS_QUOTACTL),
	call("the kernel", "iopl", unix.SYS_IOPL, 3),
	call("the kernel", "ioperm", unix.SYS_IOPERM, 0, 1, 1),
	call("the kernel", "modify_ldt", unix.SYS_MODIFY_LDT),
	call("the kernel", "vhangup", unix.SYS_VHANGUP),
	call("the kernel", "lookup_dcookie", unix.SYS_LOOKUP_DCOOKIE),
	call("the kernel", "personality", unix.SYS_PERSONALITY, 0x0040000), // ADDR_NO_RANDOMIZE
	call("the kernel", "memfd_secret", 447, none),
	call("the kernel", "fanotify_init", unix.SYS_FANOTIFY_INIT, none),
	call("the kernel", "seccomp notify", unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, 0),
	call("the kernel", "landlock", unix.SYS_LANDLOCK_CREATE_RULESET, 0, 1, 0),

	call("other processes", "ptrace", unix.SYS_PTRACE, unix.PTRACE_PEEKUSR, none),
	call("other processes", "ptrace 1", unix.SYS_PTRACE, unix.PTRACE_SEIZE, 1, 0, 0),
	call("other processes", "process_vm_readv", unix.SYS_PROCESS_VM_READV, 1, 0, 0, 0, 0, 0),
	call("other processes", "process_vm_writev", unix.SYS_PROCESS_VM_WRITEV, 1, 0, 0, 0, 0, 0),
	call("other processes", "kcmp", unix.SYS_KCMP, 1, 1, 0, 0, 0),
	call("other processes", "pidfd_getfd", unix.SYS_PIDFD_GETFD),
	call("other processes", "process_madvise", unix.SYS_PROCESS_MADVISE),
	call("other processes", "process_mrelease", unix.SYS_PROCESS_MRELEASE),
	call("other processes", "migrate_pages", unix.SYS_MIGRATE_PAGES, 1),
	call("other processes", "move_pages", unix.SYS_MOVE_PAGES, 1, 1, 0, 0, 0, 0),
	call("other processes", "mbind", unix.SYS_MBIND),
	call("other processes", "set_mempolicy", unix.SYS_SET_MEMPOLICY),

	call("keys, clocks, names", "add_key", unix.SYS_ADD_KEY, 0, 0, 0, 0, 0),
	call("keys, clocks, names", "keyctl", unix.SYS_KEYCTL, 0, uintptr(0xfffffffd), 0),
	call("keys, clocks, names", "request_key", unix.SYS_REQUEST_KEY, 0, 0, 0, 0),
	call("keys, clocks, names", "settimeofday", unix.SYS_SETTIMEOFDAY, 1, 0),
	call("keys, clocks, names", "clock_settime", unix.SYS_CLOCK_SETTIME, 0, 0),
	call("keys, clocks, names", "clock_adjtime", unix.SYS_CLOCK_ADJTIME, 0, 1),
	call("keys, clocks, names", "sethostname", unix.SYS_SETHOSTNAME, 0, 1),
	call("keys, clocks, names", "setdomainname", unix.SYS_SETDOMAINNAME, 0, 1),
	call("keys, clocks, names", "name_to_handle_at", unix.SYS_NAME_TO_HANDLE_AT, none, 0, 0, 0, 0),
	call("keys, clocks, names", "open_by_handle_at", unix.SYS_OPEN_BY_HANDLE_AT, none, 0, 0),
	call("keys, clocks, names", "mknod device", unix.SYS_MKNODAT, none, 0, unix.S_IFCHR|0o600, 0x103),

	socket("packet raw", unix.AF_PACKET, unix.SOCK_RAW, 0x300),
	socket("packet datagram", unix.AF_PACKET, unix.SOCK_DGRAM, 0x300),
	socket("raw icmp", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP),
	socket("raw ip", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_RAW),
	socket("raw ip6", unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_RAW),
	socket("ping", unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP),
	socket("tcp", unix.AF_INET, unix.SOCK_STREAM, 0),
	socket("udp", unix.AF_INET, unix.SOCK_DGRAM, 0),
	socket("tcp6", unix.AF_INET6, unix.SOCK_STREAM, 0),
	socket("udp6", unix.AF_INET6, unix.SOCK_DGRAM, 0),
	socket("sctp", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP),
	socket("udplite", unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE),
	socket("dccp", unix.AF_INET, unix.SOCK_DCCP, unix.IPPROTO_DCCP),
	socket("mptcp", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP),
	socket("unix", unix.AF_UNIX, unix.SOCK_STREAM, 0),
	socket("vsock", unix.AF_VSOCK, unix.SOCK_STREAM, 0),
	socket("alg", unix.AF_ALG, unix.SOCK_SEQPACKET, 0),
	socket("xdp", unix.AF_XDP, unix.SOCK_RAW, 0),
	socket("bluetooth", unix.AF_BLUETOOTH, unix.SOCK_RAW, 1),
	socket("can", unix.AF_CAN, unix.SOCK_RAW, 1),
	socket("tipc", unix.AF_TIPC, unix.SOCK_SEQPACKET, 0),
	socket("rds", unix.AF_RDS, unix.SOCK_SEQPACKET, 0),
	socket("key", unix.AF_KEY, unix.SOCK_RAW, 2),
	socket("smc", unix.AF_SMC, unix.SOCK_STREAM, 0),
	socket("kcm", unix.AF_KCM, unix.SOCK_DGRAM, 0),
	socket("pppox", unix.AF_PPPOX, unix.SOCK_DGRAM, 0),
	socket("x25", unix.AF_X25, unix.SOCK_SEQPACKET, 0),
	socket("ax25", unix.AF_AX25, unix.SOCK_DGRAM, 0),
	socket("llc", unix.AF_LLC, unix.SOCK_DGRAM, 0),
	socket("qipcrtr", unix.AF_QIPCRTR, unix.SOCK_DGRAM, 0),
	socket("nfc", unix.AF_NFC, unix.SOCK_SEQPACKET, 0),
	socket("phonet", unix.AF_PHONET, unix.SOCK_DGRAM, 0),
	socket("ieee802154", unix.AF_IEEE802154, unix.SOCK_DGRAM, 0),
	socket("netlink route", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE),
	socket("netlink netfilter", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER),
	socket("netlink xfrm", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_XFRM),
	socket("netlink audit", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT),
	socket("netlink diag", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_INET_DIAG),
	socket("netlink generic", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_GENERIC),
	socket("netlink uevent", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT),
	socket("netlink crypto", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_CRYPTO),
}
