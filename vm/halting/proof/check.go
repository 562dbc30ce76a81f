package proof

import (
	"context"
	"errors"
	"fmt"

	"git-ward/vm/halting/code"
)

// Check verifies a proof for a flat program within limits, until ctx ends. nil
// means that its claim holds; an error says what does not.
func Check(ctx context.Context, p code.Program, pr *Proof, limits Limits) error {
	limits.ctx = ctx
	if pr == nil {
		return errors.New("no proof")
	}
	if err := wellFormed(p); err != nil {
		return err
	}
	if pr.Program != Fingerprint(p) {
		return errors.New("the proof is about another program")
	}
	given := 0
	for _, has := range []bool{pr.Run != nil, pr.Cycle != nil, pr.Language != nil, pr.Invariant != nil} {
		if has {
			given++
		}
	}
	switch {
	case given != 1:
		return fmt.Errorf("a proof has one certificate, this one has %d", given)
	case pr.Run != nil && pr.Claim == Halts:
		return checkRun(p, pr.Run, limits)
	case pr.Cycle != nil && pr.Claim == Never:
		return checkCycle(p, pr.Cycle, limits)
	case pr.Language != nil && pr.Claim == Never:
		return checkLanguage(p, pr.Language, limits)
	case pr.Invariant != nil:
		return checkInvariant(p, pr.Claim, pr.Invariant, limits)
	}
	return fmt.Errorf("this certificate does not prove the claim %q", pr.Claim)
}

// wellFormed makes sure that control cannot leave the program.
func wellFormed(p code.Program) error {
	if len(p) == 0 || p[len(p)-1].Op != code.Stop {
		return errors.New("the program does not end with a stop")
	}
	for i, in := range p {
		if in.To < 0 || int(in.To) >= len(p) {
			return fmt.Errorf("instruction %d jumps out of the program", i)
		}
	}
	return nil
}

// replay executes the first n steps, all of which must leave the plan running.
func replay(p code.Program, n int64, limits Limits) (*machine, error) {
	if n < 0 || n > limits.Steps {
		return nil, fmt.Errorf("%d steps are not within the checker's %d", n, limits.Steps)
	}
	m := &machine{program: p, room: limits.Cells}
	const slice = 1 << 20
	for done := int64(0); done < n; done += slice {
		if err := limits.ctx.Err(); err != nil {
			return nil, err
		}
		if !m.advance(min(slice, n-done)) {
			return nil, fmt.Errorf("the plan does not go on for %d steps", n)
		}
	}
	return m, nil
}

func checkRun(p code.Program, r *Run, limits Limits) error {
	m, err := replay(p, r.Steps-1, limits)
	if err != nil {
		return err
	}
	m.step()
	switch {
	case !m.ended:
		return fmt.Errorf("the plan still runs after %d steps", r.Steps)
	case m.end != r.Code:
		return fmt.Errorf("the plan ends with %q, not %q", m.end, r.Code)
	}
	return nil
}

func checkCycle(p code.Program, c *Cycle, limits Limits) error {
	if c.Period < 1 || c.Period > limits.Steps {
		return fmt.Errorf("a period of %d steps", c.Period)
	}
	m, err := replay(p, c.At, limits)
	if err != nil {
		return err
	}
	first := *m
	first.left, first.right = append([]int64(nil), m.left...), append([]int64(nil), m.right...)
	low, high := m.head, m.head // the cells that the period's instructions stand on
	for i := int64(0); i < c.Period; i++ {
		low, high = min(low, m.head), max(high, m.head)
		if !m.advance(1) {
			return errors.New("the plan ends within the period")
		}
		if i&0xfffff == 0 && limits.ctx.Err() != nil {
			return limits.ctx.Err()
		}
	}
	if m.ip != first.ip || m.flags != first.flags || m.regs != first.regs {
		return errors.New("registers, flags or position differ after the period")
	}
	if int64(m.head-first.head) != c.Shift {
		return fmt.Errorf("the head moved by %d cells, not %d", m.head-first.head, c.Shift)
	}
	return compareTapes(&first, m, low, high)
}

// compareTapes compares the tape of a with that of b, moved by the difference
// of the heads. With a shift only the cells from the reached range outwards in
// its direction count: nothing on the other side is ever visited again.
func compareTapes(a, b *machine, low, high int) error {
	shift := b.head - a.head
	aLow, aHigh := a.bounds()
	bLow, bHigh := b.bounds()
	from, to := min(aLow, bLow-shift), max(aHigh, bHigh-shift)
	switch {
	case shift > 0:
		from = low
	case shift < 0:
		to = high
	}
	for i := from; i <= to; i++ {
		if a.cell(i) != b.cell(i+shift) {
			return fmt.Errorf("cell %d differs after the period", i)
		}
	}
	return nil
}
