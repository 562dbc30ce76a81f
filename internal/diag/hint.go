package diag

import (
	"errors"
	"fmt"
	"slices"
)

// Hinted is an error with a remedy; internal/cli prints the hint on a line of its own.
type Hinted struct {
	Err  error
	Hint string
}

func (e *Hinted) Error() string { return e.Err.Error() }
func (e *Hinted) Unwrap() error { return e.Err }

// Hint adds a remedy to an error.
func Hint(err error, format string, args ...any) error {
	return &Hinted{err, fmt.Sprintf(format, args...)}
}

// Hints lists the remedies of an error, innermost first: the remedy of the cause comes before
// how to go on afterwards. Empty and repeated ones are left out.
func Hints(err error) []string {
	hinted, ok := errors.AsType[*Hinted](err)
	if !ok {
		return nil
	}
	all := Hints(hinted.Err)
	if hinted.Hint == "" || slices.Contains(all, hinted.Hint) {
		return all
	}
	return append(all, hinted.Hint)
}
