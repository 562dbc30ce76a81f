package diag

import (
	"errors"
	"fmt"
	"slices"
)

// Hinted is trouble with a remedy: internal/cli prints the hint on a line of its own.
type Hinted struct {
	Err  error
	Hint string
}

func (e *Hinted) Error() string { return e.Err.Error() }
func (e *Hinted) Unwrap() error { return e.Err }

// Hint gives an error its remedy.
func Hint(err error, format string, args ...any) error {
	return &Hinted{err, fmt.Sprintf(format, args...)}
}

// Hints are the remedies of an error, from its cause outwards: what mends the cause comes
// before what goes on afterwards. One that is empty, or was said already, is left out.
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
