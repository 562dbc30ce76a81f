package probe

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func privileges(*Surroundings) []attempt {
	return []attempt{
		{"SBX-3", "no capability but setuid, setgid, kill", capabilities},
		{"SBX-3", "no-new-privileges is on", statusIs("NoNewPrivs", "1")},
		{"SBX-3", "a seccomp filter is on", statusIs("Seccomp", "2")},
		{"SBX-3", "raw socket", denied(func() error { return socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) })},
		{"SBX-3", "packet socket", denied(func() error { return socket(unix.AF_PACKET, unix.SOCK_RAW, 0) })},
		{"SBX-3", "socket to the hypervisor", denied(func() error { return socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0) })},
		{"SBX-3", "netfilter socket may not change rules", denied(changeRules)},
		{"SBX-3", "new user namespace", denied(func() error { return child(unix.CLONE_NEWUSER) })},
		{"SBX-3", "new user and network namespace", denied(func() error { return child(unix.CLONE_NEWUSER | unix.CLONE_NEWNET) })},
		{"SBX-3", "clone3 is not there, so that programs make threads by clone", func(context.Context, *Surroundings) (bool, string) {
			_, _, errno := unix.RawSyscall(unix.SYS_CLONE3, 0, 0, 0)
			return errno == unix.ENOSYS, errno.Error()
		}},
		{"SBX-3", "new network namespace", denied(func() error { return unix.Unshare(unix.CLONE_NEWNET) })},
		{"SBX-3", "mount a file system", denied(func() error { return unix.Mount("none", "/tmp", "tmpfs", 0, "") })},
		{"SBX-3", "remount the root writable", denied(func() error { return unix.Mount("", "/", "", unix.MS_REMOUNT, "") })},
		{"SBX-3", "load a kernel module", denied(func() error { return unix.FinitModule(0, "", 0) })},
		{"SBX-3", "make a device node", denied(func() error { return unix.Mknod("/tmp/ward-probe-dev", unix.S_IFBLK|0o600, 8<<8) })},
	}
}

// denied expects the kernel to refuse; success is a hole.
func denied(try func() error) func(context.Context, *Surroundings) (bool, string) {
	return func(context.Context, *Surroundings) (bool, string) {
		err := try()
		if err == nil {
			return false, "ALLOWED"
		}
		return true, err.Error()
	}
}

// child starts a process in new namespaces. A program with threads, such as this one, cannot
// make a user namespace for itself, so its own refusal would prove nothing.
func child(namespaces uintptr) error {
	cmd := exec.Command("/proc/self/exe", "--help")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces}
	if err := cmd.Start(); err != nil {
		return err
	}
	cmd.Process.Kill()
	cmd.Wait()
	return nil
}

func socket(domain, kind, protocol int) error {
	fd, err := unix.Socket(domain, kind, protocol)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// changeRules asks nfnetlink to begin a batch that deletes every table; without CAP_NET_ADMIN
// the kernel answers EPERM without reading it.
func changeRules() error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	const batchBegin = 0x10 // NFNL_MSG_BATCH_BEGIN
	message := make([]byte, 20)
	message[0], message[4], message[6] = 20, batchBegin, unix.NLM_F_REQUEST|unix.NLM_F_ACK
	message[18], message[19] = 0, 10 // res_id: NFNL_SUBSYS_NFTABLES, network order
	if err := unix.Sendto(fd, message, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1})
	answer := make([]byte, 256)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return err
	}
	if n < 20 {
		return fmt.Errorf("an answer of %d bytes", n)
	}
	code := int32(uint32(answer[16]) | uint32(answer[17])<<8 | uint32(answer[18])<<16 | uint32(answer[19])<<24)
	if code == 0 {
		return nil
	}
	return syscall.Errno(-code)
}

// status is a line of /proc/self/status (proc_pid_status(5)).
func status(name string) (string, error) {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value), nil
		}
	}
	return "", fmt.Errorf("no %s in /proc/self/status", name)
}

func statusIs(name, want string) func(context.Context, *Surroundings) (bool, string) {
	return func(context.Context, *Surroundings) (bool, string) {
		value, err := status(name)
		if err != nil {
			return false, err.Error()
		}
		return value == want, name + " " + value
	}
}

func capabilities(context.Context, *Surroundings) (bool, string) {
	const allowed = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID | 1<<unix.CAP_KILL
	for _, set := range []string{"CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb"} {
		text, err := status(set)
		if err != nil {
			return false, err.Error()
		}
		bits, err := strconv.ParseUint(text, 16, 64)
		if err != nil || bits&^allowed != 0 {
			return false, set + " " + text
		}
	}
	return true, "no other bit in any set"
}
