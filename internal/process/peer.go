package process

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// PeerID is the user id of the process that connected, as it was then, in this
// process's user namespace (unix(7), SO_PEERCRED).
func PeerID(conn *net.UnixConn) (uid int, err error) {
	var cred *unix.Ucred
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	control := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err = errors.Join(control, err); err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}
