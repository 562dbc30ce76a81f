package gittest

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPort: a server listens on the port, and again after its end; who asks for any port of a range
// that has no other gets none, whether to listen or to connect.
func TestPort(t *testing.T) {
	port, served := Port(t), Port(t)
	only := func(_, _ string, c syscall.RawConn) (err error) {
		c.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.SOL_IP, unix.IP_LOCAL_PORT_RANGE, port<<16|port)
		})
		return err
	}
	taken := func(c interface{ Close() error }, err error) {
		t.Helper()
		switch {
		case errors.Is(err, unix.ENOPROTOOPT):
			t.Skip("SKIPPED: the kernel has no IP_LOCAL_PORT_RANGE (Linux 6.3)")
		case err == nil:
			c.Close()
			t.Error("another has the port")
		case !errors.Is(err, unix.EADDRINUSE) && !errors.Is(err, unix.EADDRNOTAVAIL):
			t.Error(err)
		}
	}
	for range 2 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", served))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		c, err := (&net.Dialer{Control: only}).Dial("tcp", l.Addr().String())
		taken(c, err)
		l.Close()
	}
	l, err := (&net.ListenConfig{Control: only}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	taken(l, err)
}
