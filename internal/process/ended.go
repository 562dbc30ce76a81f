package process

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// AwaitEnd returns as soon as all of some processes have ended, anybody's, reaped or not, and after
// a while if they have not. The kernel tells (pidfd_open(2)).
func AwaitEnd(patience time.Duration, pids ...int) {
	end := time.Now().Add(patience)
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil { // an old kernel, or no file descriptor left
			time.Sleep(time.Until(end)) // nothing tells
			return
		}
		awaitOne(fd, end)
		unix.Close(fd)
	}
}

func awaitOne(fd int, end time.Time) {
	for {
		left := int(time.Until(end).Milliseconds()) + 1
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, max(left, 0)); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// numbersOf are the processes' ids.
func numbersOf(list []Info) (pids []int) {
	for _, p := range list {
		pids = append(pids, p.PID)
	}
	return pids
}
