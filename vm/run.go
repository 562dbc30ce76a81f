package vm

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// slice is how many instructions are executed between two looks at the clock and
// at the context: some hundred microseconds.
const slice = 1 << 18

// Run executes until the plan ends or a limit does. Its error is the context's;
// the result is then how the run stands. A machine runs once.
func (m *Machine) Run(ctx context.Context) (*Result, error) {
	deadline := time.Now().Add(m.limits.Time)
	for m.state == Running {
		if err := ctx.Err(); err != nil {
			return m.Result(), err
		}
		if !time.Now().Before(deadline) {
			m.end(WallClock)
			break
		}
		m.advance(min(slice, m.limits.Instructions-m.count))
	}
	return m.Result(), nil
}

// advance executes at least one instruction, or ends the run, and at most n
// instructions when n is positive.
func (m *Machine) advance(n int64) {
	target := m.count + n
	for {
		m.fast(target - m.count)
		m.Step()
		if m.state != Running || m.count >= target {
			return
		}
	}
}

func unknownTool(name string) error {
	return fmt.Errorf("there is no tool %q for CALL; there are %s", name, strings.Join(ToolNames(), ", "))
}
