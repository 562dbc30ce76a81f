package fence

import (
	"fmt"
	"syscall"

	"git-ward/internal/diag"
)

// Exit is the end of a payload with an exit code of its own, or by a signal that the
// launcher sent; 128 and the signal's number is the code then. The payload has said
// what there was to say.
type Exit int

func (e Exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// Killed is the end of a payload by a signal that nobody here sent.
type Killed syscall.Signal

func (k Killed) Error() string { return fmt.Sprintf("the agent died: %v", syscall.Signal(k)) }

// KilledBy is Killed with its remedy.
func KilledBy(signal syscall.Signal) error {
	return diag.Hint(Killed(signal), "launch again: it continues from the repository's refs")
}
