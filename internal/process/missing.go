package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

// notStarted is a command that did not start.
type notStarted struct {
	program, dir string
	err          error
}

func (n *notStarted) Error() string { return fmt.Sprintf("%s does not start: %v", n.program, n.err) }

func (n *notStarted) Unwrap() error { return n.err }

// Missing reports whether an error is a command's that did not start because its program is not
// there, or cannot be executed there. What else prevents a start may pass by itself, such as too
// many processes, or is no fault of the program's, such as a directory that is gone.
func Missing(err error) bool {
	var n *notStarted
	if !errors.As(err, &n) {
		return false
	}
	if _, gone := os.Stat(n.dir); n.dir != "" && gone != nil { // the kernel's error is the same
		return false
	}
	return errors.Is(n.err, exec.ErrNotFound) || errors.Is(n.err, fs.ErrNotExist) || errors.Is(n.err, fs.ErrPermission) || errors.Is(n.err, syscall.ENOEXEC)
}
