package halting

import (
	"git-ward/vm/halting/code"
)

// control is all of a configuration but the tape: where it is and what it
// remembers. Registers and flags that are dead there are zero, so that equal
// controls behave alike whatever they have forgotten.
type control struct {
	ip    int32
	flags code.Flags
	regs  [code.Registers]int64
}

// effect is how a burst of instructions up to and including a move ends.
type effect uint8

const (
	unset  effect = iota // not computed yet
	moves                // the head moved
	halts                // the plan ended
	spins                // the same point came back without a move: never ends
	tooFar               // not known within the budget
)

// transition is a Turing machine's: what a control does with a cell.
type transition struct {
	effect effect
	dir    int8
	write  int32 // symbol
	next   int32 // control
	cost   int64 // instructions; before the first of those that repeat, when it spins
	period int64 // of instructions, when it spins
	code   string
}

// recovered is the Turing machine that a plan is, found by executing it: its
// states are the controls just after a move, its symbols the numbers that cells
// hold. Both are numbered as they appear, symbol 0 being the number 0.
type recovered struct {
	program  code.Program
	live     []liveSet
	controls []control
	byCtl    map[control]int32
	symbols  []int64
	bySym    map[int64]int32
	table    [][]transition // by control, symbol
	stop     func() bool    // whether to give up, asked now and then
	burst    int64          // instructions that one transition may take
	fuel     int64          // instructions that all may take
}

func recoverMachine(p code.Program, live []liveSet, stop func() bool) *recovered {
	m := &recovered{program: p, live: live, stop: stop, byCtl: map[control]int32{}, bySym: map[int64]int32{}}
	m.symbol(0)
	m.intern(control{})
	return m
}

func (m *recovered) symbol(v int64) int32 {
	s, ok := m.bySym[v]
	if !ok {
		s = int32(len(m.symbols))
		m.symbols = append(m.symbols, v)
		m.bySym[v] = s
	}
	return s
}

// intern numbers a control after forgetting what is dead in it.
func (m *recovered) intern(c control) int32 {
	c = m.live[c.ip].forget(c)
	s, ok := m.byCtl[c]
	if !ok {
		s = int32(len(m.controls))
		m.controls = append(m.controls, c)
		m.byCtl[c] = s
		m.table = append(m.table, nil)
	}
	return s
}

// at is the transition of a control on a symbol, computed when first asked for.
func (m *recovered) at(ctl, sym int32) *transition {
	row := m.table[ctl]
	if int(sym) >= len(row) {
		row = append(row, make([]transition, int(sym)+1-len(row))...)
		m.table[ctl] = row
	}
	if row[sym].effect == unset {
		t := m.run(m.controls[ctl], m.symbols[sym]) // may move the rows
		m.table[ctl][sym] = t
		return &m.table[ctl][sym]
	}
	return &row[sym]
}

// run executes from a control until the head moves.
func (m *recovered) run(c control, cell int64) transition {
	type point struct {
		control
		cell int64
	}
	budget := min(m.burst, m.fuel)
	mark, again := point{c, cell}, int64(1)
	var marked int64
	for n := int64(1); n <= budget; n++ {
		in := &m.program[c.ip]
		if in.Op == code.Left || in.Op == code.Right {
			m.fuel -= n
			c.ip++
			return transition{effect: moves, dir: int8(2*int(in.Op-code.Left) - 1), write: m.symbol(cell), next: m.intern(c), cost: n}
		}
		if end, ok := execute(m.program, &c, &cell); !ok {
			m.fuel -= n
			if in.Op == code.Havoc {
				return transition{effect: tooFar, cost: n}
			}
			return transition{effect: halts, code: end, cost: n}
		}
		if c.ip == mark.ip && c == mark.control && cell == mark.cell {
			m.fuel -= n
			return transition{effect: spins, cost: marked, period: n - marked}
		}
		if n == again {
			mark, marked, again = point{c, cell}, n, 2*again
		}
		if n&0xfffff == 0 && m.stop() {
			budget = n
		}
	}
	m.fuel -= budget
	return transition{effect: tooFar, cost: budget}
}

// execute does one instruction that does not move the head; false when it ends
// the plan, with the code, or when what it does is unknown (Havoc).
func execute(p code.Program, c *control, cell *int64) (string, bool) {
	in := &p[c.ip]
	switch in.Op {
	case code.Stop:
		return in.Code, false
	case code.Havoc:
		return "", false
	case code.Jump:
		c.ip = in.To
		return "", true
	case code.Read:
		c.regs[in.Reg] = *cell
	case code.Write:
		*cell = in.A.Of(&c.regs)
	case code.Move:
		c.regs[in.Reg] = in.A.Of(&c.regs)
	case code.Cmp:
		c.flags = code.Compare(c.regs[in.Reg], in.A.Of(&c.regs))
	case code.JE, code.JNE, code.JG, code.JL:
		if c.flags == code.Unset {
			return code.FlagsUnset, false
		}
		if in.Op.Taken(c.flags) {
			c.ip = in.To
			return "", true
		}
	case code.Nop:
	case code.Add, code.Sub:
		v, ok := code.Arith(in.Op, c.regs[in.Reg], in.A.Of(&c.regs))
		if !ok {
			return code.Overflow, false
		}
		c.regs[in.Reg] = v
	default:
		b := in.B.Of(&c.regs)
		v, ok := code.Arith(in.Op, in.A.Of(&c.regs), b)
		if !ok {
			return code.ArithError(in.Op, b), false
		}
		c.regs[0] = v
	}
	c.ip++
	return "", true
}
