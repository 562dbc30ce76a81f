package verifier

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ipc is one of the kinds of System V's objects, which outlive the processes that made them
// and are no files (sysvipc(7)). All commands of a pod have one namespace of them.
type ipc struct {
	name string
	ctl  func(id, command int, buffer *ipcBuffer) (int, error)
	// any is the command that names the object of an index, whosever it is, info the one that
	// tells the highest index, and in the words of its answer how many objects there are.
	any, info, count int
}

// ipcBuffer is more than the kernel writes of any of them. Of that only a count is looked at.
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

// left is the highest index and how many objects there are, none in a kernel without any.
func (k *ipc) left() (last, count int, err error) {
	var b ipcBuffer
	last, err = k.ctl(0, k.info, &b)
	if errors.Is(err, unix.ENOSYS) {
		return 0, 0, nil
	}
	words := (*[len(b) * 8]byte)(unsafe.Pointer(&b))
	return last, int(int32(binary.NativeEndian.Uint32(words[4*k.count:]))), err
}

// remove removes what the calling thread's user made, and is an error where anything is left:
// a next command could read it.
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

// removeIPC removes what a user's commands left of System V's objects.
func removeIPC(user int) error {
	done := make(chan error)
	go func() {
		// Of this thread alone, which ends with this function: the kernel lets remove an object
		// whoever has its maker's effective user.
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

// queuesOutlast is an error where a command could make a POSIX message queue, which outlives it,
// too, and which nobody finds whose name he does not know: no file system shows it in a pod.
// The filter of system calls there has none of them.
func queuesOutlast() error {
	if _, _, errno := unix.RawSyscall(unix.SYS_MQ_OPEN, 0, 0, 0); errno == unix.ENOSYS || errno == unix.EPERM {
		return nil
	}
	return errors.New("a command could leave a message queue (mq_overview(7)) to the next: nothing refuses them here")
}
