// Package finding is what `git ward doctor` and the check of a forge find, as people and programs
// read it.
package finding

import (
	"fmt"
	"io"
	"slices"

	"git-ward/internal/diag"
)

// State is the result of a check: Fine, Warning (weaker than it could be), or Missing (without it
// what was asked for is not possible).
type State string

// The states.
const (
	Fine    State = "fine"
	Warning State = "warning"
	Missing State = "missing"
)

// Finding is one check with its result.
type Finding struct {
	Thing  string `json:"thing"`
	State  State  `json:"state"`
	Detail string `json:"detail"`
	Mend   string `json:"mend,omitempty"` // a command
}

// Lacking reports whether something is missing.
func Lacking(found []Finding) bool {
	return slices.ContainsFunc(found, func(f Finding) bool { return f.State == Missing })
}

// Write writes each finding on a line of its own, and below it what mends it.
func Write(w io.Writer, found []Finding) {
	for _, f := range found {
		fmt.Fprintf(w, "%-8s %-22s %s\n", f.State, f.Thing, diag.Clean(f.Detail))
		if f.Mend != "" {
			fmt.Fprintf(w, "%-8s %-22s mend: %s\n", "", "", diag.Clean(f.Mend))
		}
	}
}

// WriteJSON writes each finding as an object on a line of its own.
func WriteJSON(w io.Writer, found []Finding) error {
	for _, f := range found {
		if err := diag.WriteJSON(w, f); err != nil {
			return err
		}
	}
	return nil
}
