// Package finding is what `git ward doctor` finds, for whoever reads it without the programs that
// doctor needs to look.
package finding

import (
	"fmt"
	"io"

	"git-ward/internal/diag"
)

// State is the result of a check: Fine, Warning (weaker than it could be), or Missing (no
// fence is possible without it).
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

// Write writes each finding on a line of its own, and below it what mends it.
func Write(w io.Writer, found []Finding) {
	for _, f := range found {
		fmt.Fprintf(w, "%-8s %-22s %s\n", f.State, f.Thing, diag.Clean(f.Detail))
		if f.Mend != "" {
			fmt.Fprintf(w, "%-8s %-22s mend: %s\n", "", "", f.Mend)
		}
	}
}
