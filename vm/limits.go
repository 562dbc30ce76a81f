package vm

import (
	"fmt"
	"time"
)

// Limits are what a run may take. Each must be at least 1.
type Limits struct {
	Instructions int64 // executed; LABEL is none
	Cells        int64 // of the tape's buffer: from the first to the last of cell 0 and all written cells
	Time         time.Duration
	Output       int64 // bytes that print may append
}

// MaxDepth is how many plans may be entered at once besides the first (UDC-3).
const MaxDepth = 10

// Check refuses limits below 1, which would switch a limit off or every plan.
func (l Limits) Check() error {
	for _, c := range []struct {
		name  string
		value int64
	}{
		{"instructions", l.Instructions}, {"cells", l.Cells}, {"time", int64(l.Time)}, {"output", l.Output},
	} {
		if c.value < 1 {
			return fmt.Errorf("the limit of %s is %d; it must be at least 1", c.name, c.value)
		}
	}
	return nil
}
