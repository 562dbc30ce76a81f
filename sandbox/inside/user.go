package inside

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// become makes what this thread starts another user's, without any of this process's
// rights. That user can then neither stop this process, nor take its time on a processor
// away, nor its limits: the kernel asks no more for these than to be the same user. Who calls it
// keeps its thread.
func (p *Payload) become(attr *syscall.SysProcAttr) error {
	if p.User == 0 {
		return nil
	}
	attr.Credential = &syscall.Credential{Uid: uint32(p.User), Gid: uint32(p.User)}
	if err := inheritNothing(); err != nil {
		return fmt.Errorf("this process's rights cannot be kept from the command: %w", err)
	}
	for fd := range 3 {
		// A command may open its streams again (/dev/stdout), which are pipes or a terminal
		// of the first process's user. Anything else is not ours to change.
		unix.Fchmod(fd, 0o666)
	}
	return nil
}

// inheritNothing keeps this thread's capabilities from what it starts: the ambient ones go
// with the inheritable ones (capabilities(7)).
func inheritNothing() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return err
	}
	sets[0].Inheritable, sets[1].Inheritable = 0, 0
	return unix.Capset(&header, &sets[0])
}
