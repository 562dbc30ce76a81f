package fence

import (
	"fmt"
	"syscall"

	"git-ward/internal/diag"
)

// Exit is the end of a payload with its own exit code, or by a signal from the launcher, whose
// code is 128 plus the signal's number. Nothing more needs to be printed.
type Exit int

func (e Exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// Killed is the end of a payload by a signal that the launcher did not send.
type Killed syscall.Signal

func (k Killed) Error() string { return fmt.Sprintf("the agent died: %v", syscall.Signal(k)) }

// KilledBy is Killed with its remedy.
func KilledBy(signal syscall.Signal) error {
	return diag.Hint(Killed(signal), "launch again: it continues from the repository's refs")
}
