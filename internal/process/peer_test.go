package process

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// TestPeerID: who connected is who the kernel says; a closed connection says nobody.
func TestPeerID(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if uid, err := PeerID(conn.(*net.UnixConn)); err != nil || uid != os.Geteuid() {
		t.Errorf("%d, %v", uid, err)
	}
	conn.Close()
	if uid, err := PeerID(conn.(*net.UnixConn)); err == nil {
		t.Errorf("a closed connection is of %d", uid)
	}
}
