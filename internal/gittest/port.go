package gittest

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Port is a port of 127.0.0.1 for a test's server that listens with SO_REUSEADDR, as sshd, nginx and
// Go's do. A socket is bound to it until the test ends, and never listens: so the kernel gives the port
// to nobody who asks for any free one. A port that is looked up and let go may be taken before the
// server starts.
func Port(t testing.TB) int {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		t.Fatal(err)
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return at.(*unix.SockaddrInet4).Port
}
