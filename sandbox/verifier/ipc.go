package verifier

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ipc is a kind of System V IPC objects, which outlive their processes and are no files (sysvipc(7)).
// All commands of a pod share one IPC namespace.
type ipc struct {
	name string
	ctl  func(id, command int, buffer *ipcBuffer) (int, error)
	// any is the command that returns the object of an index, whoever owns it. info is the one that
	// returns the highest index; count is where its answer has the number of objects.
	any, info, count int
}

// ipcBuffer is larger than any of the kernel's answers. Only the count in it is read.
type ipcBuffer [64]uint64

// ipcRemove is IPC_RMID.
const ipcRemove = 0

var ipcs = []ipc{
	{"shared memory", func(id, command int, b *ipcBuffer) (int, error) {
		return ipcResult(unix.RawSyscall(unix.SYS_SHMCTL, uintptr(id), uintptr(command), uintptr(unsafe.Pointer(b))))
	}, 15, 14, 0}, // SHM_STAT_ANY, SHM_INFO, used_ids
	{"message queues", func(id, command int, b *ipcBuffer) (int, error) {
		return ipcResult(unix.RawSyscall(unix.SYS_MSGCTL, uintptr(id), uintptr(command), uintptr(unsafe.Pointer(b))))
	}, 13, 12, 0}, // MSG_STAT_ANY, MSG_INFO, msgpool
	{"semaphores", func(id, command int, b *ipcBuffer) (int, error) {
		return ipcResult(unix.RawSyscall6(unix.SYS_SEMCTL, uintptr(id), 0, uintptr(command), uintptr(unsafe.Pointer(b)), 0, 0))
	}, 20, 19, 7}, // SEM_STAT_ANY, SEM_INFO, semusz
}

func ipcResult(result, _ uintptr, errno unix.Errno) (int, error) {
	if errno != 0 {
		return 0, errno
	}
	return int(result), nil
}

// left returns the highest index and the number of objects, 0 in a kernel without System V IPC.
func (k *ipc) left() (last, count int, err error) {
	var b ipcBuffer
	last, err = k.ctl(0, k.info, &b)
	if errors.Is(err, unix.ENOSYS) {
		return 0, 0, nil
	}
	words := (*[len(b) * 8]byte)(unsafe.Pointer(&b))
	return last, int(int32(binary.NativeEndian.Uint32(words[4*k.count:]))), err
}

// remove removes the objects of the calling thread's user. It fails if any object is left, because the
// next command could read it.
func (k *ipc) remove() error {
	last, count, err := k.left()
	for i := 0; err == nil && count > 0 && i <= last; i++ {
		var b ipcBuffer
		if id, err := k.ctl(i, k.any, &b); err == nil {
			k.ctl(id, ipcRemove, &b) // what stays is counted
		}
	}
	if err == nil {
		_, count, err = k.left()
	}
	if err == nil && count > 0 {
		err = fmt.Errorf("%d of them stay", count)
	}
	if err != nil {
		return fmt.Errorf("%s of System V: %w", k.name, err)
	}
	return nil
}

// removeIPC removes the System V IPC objects that a user's commands left.
func removeIPC(user int) error {
	done := make(chan error)
	go func() {
		// The effective user is changed for this thread alone, which ends with the function: the kernel
		// lets an object's effective owner remove it.
		runtime.LockOSThread()
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uintptr(user), ^uintptr(0)); errno != 0 {
			done <- errno
			return
		}
		var err error
		for i := range ipcs {
			err = errors.Join(err, ipcs[i].remove())
		}
		done <- err
	}()
	return <-done
}

// queuesOutlast fails if a command could make a POSIX message queue, which outlives it, too, and which
// no file system of a pod lists. The pod's seccomp filter refuses the system call.
func queuesOutlast() error {
	if _, _, errno := unix.RawSyscall(unix.SYS_MQ_OPEN, 0, 0, 0); errno == unix.ENOSYS || errno == unix.EPERM {
		return nil
	}
	return errors.New("a command could leave a message queue (mq_overview(7)) to the next: nothing refuses them here")
}
