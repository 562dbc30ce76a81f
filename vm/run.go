package vm

import (
	"context"
	"time"
)

// slice is how many instructions are executed between two looks at the clock and
// at the context: some hundred microseconds.
const slice = 1 << 18

// left is how long the run may still take.
func (m *Machine) left() time.Duration {
	if m.deadline.IsZero() {
		return m.limits.Time
	}
	now := time.Now()
	return max(m.deadline.Sub(now), 1)
}

// Run executes until the plan ends or a limit does. Its error is the context's;
// the result is then how the run stands. A machine runs once.
func (m *Machine) Run(ctx context.Context) (*Result, error) {
	deadline := time.Now().Add(m.limits.Time)
	m.deadline = deadline
	for m.state == Running {
		if err := ctx.Err(); err != nil {
			return m.Result(), err
		}
		if !time.Now().Before(deadline) {
			m.end(WallClock)
			break
		}
		m.advance(slice)
	}
	return m.Result(), nil
}
