package inside

import (
	"encoding/json"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// asked is a system call, with arguments that no kernel does anything with, and whether the
// filter answers in the kernel's place.
type asked struct {
	name    string
	call    uintptr
	args    [3]uintptr
	refused bool
}

const none = ^uintptr(0)

var calls = []asked{
	{"socket to the hypervisor", unix.SYS_SOCKET, [3]uintptr{unix.AF_VSOCK, unix.SOCK_STREAM, 0}, true},
	{"packet socket", unix.SYS_SOCKET, [3]uintptr{unix.AF_PACKET, unix.SOCK_DGRAM, 0}, true},
	{"netfilter's socket", unix.SYS_SOCKET, [3]uintptr{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER}, true},
	{"SCTP", unix.SYS_SOCKET, [3]uintptr{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP}, true},
	{"UDP-Lite by IPv6", unix.SYS_SOCKET, [3]uintptr{unix.AF_INET6, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE}, true},
	{"unix socket", unix.SYS_SOCKET, [3]uintptr{unix.AF_UNIX, unix.SOCK_STREAM, 0}, false},
	{"addresses' socket", unix.SYS_SOCKET, [3]uintptr{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, false},
	{"TCP", unix.SYS_SOCKET, [3]uintptr{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP}, false},
	{"UDP by IPv6", unix.SYS_SOCKET, [3]uintptr{unix.AF_INET6, unix.SOCK_DGRAM, 0}, false},
	{"high half of a family", unix.SYS_SOCKET, [3]uintptr{unix.AF_VSOCK | 1<<40, unix.SOCK_STREAM, 0}, true},
	{"new user namespace", unix.SYS_CLONE, [3]uintptr{unix.CLONE_NEWUSER | unix.CLONE_FS, none, none}, true},
	{"unshare", unix.SYS_UNSHARE, [3]uintptr{none, 0, 0}, true},
	{"clone3", unix.SYS_CLONE3, [3]uintptr{0, 0, 0}, true},
	{"io_uring", unix.SYS_IO_URING_SETUP, [3]uintptr{1, 0, 0}, true},
	{"mount", unix.SYS_MOUNT, [3]uintptr{0, 0, 0}, true},
	{"keys", unix.SYS_KEYCTL, [3]uintptr{none, 0, 0}, true},
	{"message queue", unix.SYS_MQ_OPEN, [3]uintptr{0, 0, 0}, true},
	{"System V's message queue", unix.SYS_MSGGET, [3]uintptr{1, 0, 0}, false},
	{"bpf", unix.SYS_BPF, [3]uintptr{none, 0, 0}, true},
	{"other numbers", otherNumbers + unix.SYS_GETPID, [3]uintptr{}, true},
	{"getpid", unix.SYS_GETPID, [3]uintptr{}, false},
}

// narrowed makes the calls behind the filter, and tells how each ended.
func narrowed() {
	runtime.LockOSThread()
	if err := narrow(); err != nil {
		panic(err)
	}
	var ends []syscall.Errno
	for _, c := range calls {
		_, _, errno := unix.RawSyscall(c.call, c.args[0], c.args[1], c.args[2])
		ends = append(ends, errno)
	}
	json.NewEncoder(os.Stdout).Encode(ends)
}

func TestFilter(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "INSIDE_TEST_NARROWED=1")
	out, err := cmd.Output()
	var ends []syscall.Errno
	if err := json.Unmarshal(out, &ends); err != nil || len(ends) != len(calls) {
		t.Fatalf("%v %v: %s", err, cmd.ProcessState, out)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range calls {
		if got := ends[i] == unix.EPERM || ends[i] == unix.ENOSYS; got != c.refused {
			t.Errorf("%s: %v", c.name, ends[i])
		}
	}
}
