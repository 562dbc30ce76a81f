package diag

import "fmt"

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
