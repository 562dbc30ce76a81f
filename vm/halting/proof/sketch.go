package proof

import (
	"errors"

	"git-ward/vm/halting/code"
)

// sketch is a control point of which some parts are unknown.
type sketch struct {
	ip         int32
	regs       [code.Registers]int64
	known      [code.Registers]bool
	flags      code.Flags
	flagsKnown bool
}

// partial is the sketch of a machine, all of it known.
func partial(m *machine) sketch {
	return sketch{ip: m.ip, regs: m.regs, known: [code.Registers]bool{true, true, true, true}, flags: m.flags, flagsKnown: true}
}

func (c *Control) sketch() sketch {
	s := sketch{ip: c.IP}
	for i, r := range c.Regs {
		if r != nil {
			s.regs[i], s.known[i] = *r, true
		}
	}
	if c.Flags != nil {
		s.flags, s.flagsKnown = *c.Flags, true
	}
	return s
}

// covered reports whether a control allows everything that the sketch stands
// for.
func (s *sketch) covered(c *Control) bool {
	if c.IP != s.ip || c.Flags != nil && (!s.flagsKnown || *c.Flags != s.flags) {
		return false
	}
	for i, r := range c.Regs {
		if r != nil && (!s.known[i] || *r != s.regs[i]) {
			return false
		}
	}
	return true
}

var (
	errHalts   = errors.New("it halts")
	errUnknown = errors.New("what follows depends on what the view leaves open")
	errLong    = errors.New("the head does not move within the checker's limit")
	errCostly  = errors.New("the language is beyond the checker's limit")
)

func (s *sketch) value(v code.Value) (int64, bool) {
	if v.Reg == code.Literal {
		return v.Lit, true
	}
	return s.regs[v.Reg], s.known[v.Reg]
}

// untilMove executes from a sketch with the cell under the head up to and
// including the next move, and returns its direction; 0 means that the same
// point came back without one.
func (c *language) untilMove(s *sketch, cell *int64) (int, error) {
	type point struct {
		sketch
		cell int64
	}
	var mark point // compared with all points until twice as many steps are done
	for i, again := 0, 1; i < burst; i++ {
		if c.budget--; c.budget < 0 {
			return 0, errLong
		}
		switch op := c.program[s.ip].Op; op {
		case code.Left, code.Right:
			s.ip++
			return 2*int(op-code.Left) - 1, nil
		}
		if err := s.step(c.program, cell); err != nil {
			return 0, err
		}
		now := point{*s, *cell}
		if i > 0 && now == mark {
			return 0, nil
		}
		if i+1 == again {
			mark, again = now, 2*again
		}
	}
	return 0, errLong
}

// step executes one instruction that does not move the head.
func (s *sketch) step(p code.Program, cell *int64) error {
	in := &p[s.ip]
	a, known := s.value(in.A)
	next := s.ip + 1
	switch in.Op {
	case code.Stop:
		return errHalts
	case code.Havoc:
		return errUnknown
	case code.Jump:
		next = in.To
	case code.Read:
		s.regs[in.Reg], s.known[in.Reg] = *cell, true
	case code.Write:
		if !known {
			return errUnknown
		}
		*cell = a
	case code.Move:
		s.regs[in.Reg], s.known[in.Reg] = a, known
	case code.Cmp:
		if !known || !s.known[in.Reg] {
			return errUnknown
		}
		s.flags, s.flagsKnown = code.Compare(s.regs[in.Reg], a), true
	case code.JE, code.JNE, code.JG, code.JL:
		switch {
		case !s.flagsKnown:
			return errUnknown
		case s.flags == code.Unset:
			return errHalts
		case in.Op.Taken(s.flags):
			next = in.To
		}
	case code.Nop:
	default:
		if err := s.compute(in); err != nil {
			return err
		}
	}
	s.ip = next
	return nil
}

func (s *sketch) compute(in *code.Inst) error {
	a, ok := s.value(in.A)
	b, ok2 := s.value(in.B)
	if in.Op == code.Add || in.Op == code.Sub {
		a, ok, b, ok2 = s.regs[in.Reg], s.known[in.Reg], a, ok
	}
	if !ok || !ok2 {
		return errUnknown
	}
	v, fits := code.Arith(in.Op, a, b)
	if !fits {
		return errHalts
	}
	s.regs[in.Reg], s.known[in.Reg] = v, true
	return nil
}
