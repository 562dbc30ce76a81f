package confined

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// arches are the kernel's names of what this is built for: in a filter a call of another
// architecture is refused, since its numbers mean other calls.
var arches = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// Where the kernel has them in struct seccomp_data.
const (
	numberOffset = 0
	archOffset   = 4
	x32Bit       = 0x40000000 // calls of the x32 form of amd64
)

// denySockets keeps this thread, and what it starts, from making a socket of any kind:
// no network, no local service, no abstract name (seccomp(2)). A network namespace of
// its own would do the same, and the fence admits none.
func denySockets() error {
	arch, known := arches[runtime.GOARCH]
	if !known {
		return fmt.Errorf("no filter is known for %s", runtime.GOARCH)
	}
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	end := func(verdict uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: verdict}
	}
	deny := end(unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES))
	program := []unix.SockFilter{
		load(archOffset),
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: arch, Jt: 1},
		deny,
		load(numberOffset),
		{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: x32Bit, Jf: 1},
		deny,
	}
	// io_uring makes sockets, too, and pidfd_getfd takes those of others.
	for _, call := range []uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_CONNECT, unix.SYS_IO_URING_SETUP, unix.SYS_PIDFD_GETFD, unix.SYS_PTRACE} {
		program = append(program, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: 1}, deny)
	}
	program = append(program, end(unix.SECCOMP_RET_ALLOW))
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	p := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&p))); errno != 0 {
		return errno
	}
	return nil
}
