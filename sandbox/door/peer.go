package door

import (
	"net"

	"golang.org/x/sys/unix"
)

// gone reports whether the client has closed both directions. A client that has sent
// everything and waits for the answer has closed only one.
func gone(conn *net.UnixConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return true
	}
	var there bool
	err = raw.Control(func(fd uintptr) { there = !hungUp(int(fd)) })
	return err != nil || !there
}

// hungUp reports whether nobody has the other end of a pipe or socket open any more.
func hungUp(fd int) bool {
	fds := []unix.PollFd{{Fd: int32(fd)}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0
}
