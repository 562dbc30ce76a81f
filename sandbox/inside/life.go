package inside

import (
	"errors"
	"fmt"
	"runtime"

	"git-ward/internal/diag"

	"golang.org/x/sys/unix"
)

// lifePatience is how long the launcher may take to accept a connection, in seconds.
const lifePatience = 20

// life is this process's end of its connection to the launcher.
type life struct {
	fd    int
	leave chan struct{} // the launcher allows the payload to start
}

// hold ties this process to the launcher, which holds the other end of a socket connection.
// When the connection ends, for whatever reason, this process exits, and with the container's
// first process the kernel ends the whole container.
//
// Nothing inside can prevent it: other processes can neither trace this one nor reach its
// descriptors (it is not dumpable), a namespace's first process ignores SIGSTOP and SIGKILL
// from inside, and the launcher accepts one connection only.
func hold(socket string) (*life, error) {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("this process stays traceable: %w", err)
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := greet(fd, socket); err != nil {
		unix.Close(fd)
		return nil, diag.Hint(fmt.Errorf("the launcher does not hold %s, so nothing starts: %w", socket, err), "a container starts once; launch again")
	}
	l := &life{fd, make(chan struct{}, 1)}
	go l.follow()
	return l, nil
}

// greet connects and waits for the byte by which the launcher confirms that it has the other
// end.
func greet(fd int, socket string) error {
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: socket}); err != nil {
		return err
	}
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: lifePatience}); err != nil {
		return err
	}
	n, err := read(fd)
	if err == nil && n == 0 {
		err = errors.New("it was closed")
	}
	if err != nil {
		return err
	}
	return unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{})
}

// follow has a thread of its own and as few steps as possible between the connection's end and
// the exit, because everything else inside may be spinning.
func (l *life) follow() {
	runtime.LockOSThread()
	for {
		if n, err := read(l.fd); n == 0 || err != nil {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 128+uintptr(unix.SIGKILL), 0, 0)
		}
		select {
		case l.leave <- struct{}{}:
		default: // the launcher has allowed the start
		}
	}
}

// Write writes to the launcher's connection.
func (l *life) Write(p []byte) (int, error) { return unix.Write(l.fd, p) }

// read reads a few bytes, and retries after a signal.
func read(fd int) (int, error) {
	var buf [64]byte
	for {
		if n, err := unix.Read(fd, buf[:]); err != unix.EINTR {
			return n, err
		}
	}
}
