package inside

import (
	"errors"
	"fmt"
	"runtime"

	"git-ward/internal/diag"
	"git-ward/sandbox/probe"

	"golang.org/x/sys/unix"
)

// lifePatience is how long the launcher may take to take up a connection, in seconds.
const lifePatience = 20

// life is this process's end of the connection to its launcher.
type life struct {
	fd    int
	leave chan struct{} // the launcher says that the payload may start
}

// hold ties this process to the launcher, which holds the other end of a connection to
// the socket. Where that ends, however it does, this process ends at once, and with the
// first process of a container the kernel ends all of the container.
//
// Nothing inside can keep it: what runs beside this process can neither trace it nor
// reach its descriptors (it is not dumpable), the first process of a namespace hears
// no SIGSTOP and no SIGKILL from inside of it, and the launcher takes one connection only.
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

// greet connects, and waits for the byte that says that the launcher has the other end.
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

// follow has a thread of its own and as few steps as there can be between the end of the
// connection and that of the process: all else inside may be spinning.
func (l *life) follow() {
	runtime.LockOSThread()
	for {
		if n, err := read(l.fd); n == 0 || err != nil {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 128+uintptr(unix.SIGKILL), 0, 0)
		}
		select {
		case l.leave <- struct{}{}:
		default: // it has been given
		}
	}
}

// tellEnd tells the launcher the code of the payload's end. Where it cannot be told, the launcher
// hears it from who runs the container.
func (l *life) tellEnd(code int) { probe.TellEnd(l, code) }

// Write writes to the launcher's connection.
func (l *life) Write(p []byte) (int, error) { return unix.Write(l.fd, p) }

// read reads a little, again after a signal.
func read(fd int) (int, error) {
	var buf [64]byte
	for {
		n, err := unix.Read(fd, buf[:])
		if err != unix.EINTR {
			return n, err
		}
	}
}
