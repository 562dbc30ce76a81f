package inside

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// become makes this thread start programs as another user, without any of this process's
// capabilities. Otherwise they could signal this process, lower its priority and change its
// limits, for which the kernel only requires the same user. The caller keeps its thread
// locked.
func (p *Payload) become(attr *syscall.SysProcAttr) error {
	if p.User == 0 {
		return nil
	}
	attr.Credential = &syscall.Credential{Uid: uint32(p.User), Gid: uint32(p.User)}
	if err := inheritNothing(); err != nil {
		return fmt.Errorf("this process's rights cannot be kept from the command: %w", err)
	}
	for fd := range 3 {
		// A command may reopen its streams (/dev/stdout), which are pipes or a terminal of the
		// first process's user. Other files are not ours to change.
		unix.Fchmod(fd, 0o666)
	}
	return nil
}

// inheritNothing keeps this thread's capabilities from programs that it starts: clearing the
// inheritable set clears the ambient one (capabilities(7)).
func inheritNothing() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return err
	}
	sets[0].Inheritable, sets[1].Inheritable = 0, 0
	return unix.Capset(&header, &sets[0])
}
