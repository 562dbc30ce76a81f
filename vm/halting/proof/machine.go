package proof

import (
	"context"

	"git-ward/vm/halting/code"
)

// machine executes a flat program, plainly, without limits of its own.
type machine struct {
	program code.Program
	ip      int32
	regs    [code.Registers]int64
	flags   code.Flags
	head    int
	right   []int64 // cells 0, 1, 2, ...
	left    []int64 // cells -1, -2, ...
	ended   bool
	end     string
	unknown bool // stands before something that it cannot execute
	room    int  // cells that it may still add
}

func (m *machine) cell(i int) int64 {
	side := m.right
	if i < 0 {
		side, i = m.left, -1-i
	}
	if i < len(side) {
		return side[i]
	}
	return 0
}

func (m *machine) write(i int, v int64) {
	side := &m.right
	if i < 0 {
		side, i = &m.left, -1-i
	}
	if grow := i + 1 - len(*side); grow > 0 {
		if m.room -= grow; m.room < 0 {
			m.unknown = true
			return
		}
		*side = append(*side, make([]int64, grow)...)
	}
	(*side)[i] = v
}

// bounds gives a range outside of which all cells are 0.
func (m *machine) bounds() (low, high int) { return -len(m.left), len(m.right) - 1 }

func (m *machine) stop(end string) { m.ended, m.end = true, end }

// step executes one instruction.
func (m *machine) step() {
	in := &m.program[m.ip]
	next := m.ip + 1
	switch in.Op {
	case code.Stop:
		m.stop(in.Code)
		return
	case code.Havoc:
		m.unknown = true
		return
	case code.Jump:
		next = in.To
	case code.Left:
		m.head--
	case code.Right:
		m.head++
	case code.Read:
		m.regs[in.Reg] = m.cell(m.head)
	case code.Write:
		m.write(m.head, in.A.Of(&m.regs))
	case code.Move:
		m.regs[in.Reg] = in.A.Of(&m.regs)
	case code.Cmp:
		m.flags = code.Compare(m.regs[in.Reg], in.A.Of(&m.regs))
	case code.JE, code.JNE, code.JG, code.JL:
		if m.flags == code.Unset {
			m.stop(code.FlagsUnset)
			return
		}
		if in.Op.Taken(m.flags) {
			next = in.To
		}
	case code.Nop:
	default:
		if !m.compute(in) {
			return
		}
	}
	m.ip = next
}

// compute is arithmetic; false when it ended the plan.
func (m *machine) compute(in *code.Inst) bool {
	a, b := in.A.Of(&m.regs), in.B.Of(&m.regs)
	if in.Op == code.Add || in.Op == code.Sub {
		a, b = m.regs[in.Reg], a
	}
	v, ok := code.Arith(in.Op, a, b)
	if !ok {
		m.stop(code.ArithError(in.Op, b))
		return false
	}
	m.regs[in.Reg] = v
	return true
}

// advance executes n steps and reports whether the plan was still running after
// each of them.
func (m *machine) advance(n int64) bool {
	for ; n > 0; n-- {
		m.step()
		if m.ended || m.unknown {
			return false
		}
	}
	return true
}

// Follow executes a program and calls visit with each of n instructions after
// the first ones, as long as it runs and until ctx ends.
func Follow(ctx context.Context, p code.Program, after, n int64, visit func(*code.Inst)) {
	m, err := replay(p, after, Limits{Steps: after, Cells: Default.Cells, ctx: ctx})
	if err != nil {
		return
	}
	for ; n > 0 && !m.ended && !m.unknown; n-- {
		visit(&p[m.ip])
		m.step()
	}
}
