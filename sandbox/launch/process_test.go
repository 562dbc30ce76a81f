package launch

import (
	"errors"
	"git-ward/sandbox/fence"
	"syscall"
	"testing"
)

// The launch ends as its processes do, and a signal that nobody sent is trouble.
func TestProcessEnd(t *testing.T) {
	exited := func(code int) syscall.WaitStatus { return syscall.WaitStatus(code << 8) } // wait(2)
	killed := syscall.WaitStatus(syscall.SIGKILL)
	for name, c := range map[string]struct {
		status syscall.WaitStatus
		asked  bool
		want   error
	}{
		"well":                            {exited(0), false, nil},
		"with a code":                     {exited(7), false, fence.Exit(7)},
		"killed":                          {killed, false, fence.Killed(syscall.SIGKILL)},
		"killed, as asked":                {killed, true, fence.Exit(137)},
		"the forwarder tells of a signal": {exited(143), false, fence.Killed(syscall.SIGTERM)},
		"it tells of the one asked for":   {exited(143), true, fence.Exit(143)},
	} {
		if err := processEnd(c.status, c.asked); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
