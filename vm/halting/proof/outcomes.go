package proof

import (
	"errors"
	"math"

	"git-ward/vm/halting/code"
)

// outcomes lists what an instruction may lead to from a node with a closed
// zone: edges, and the codes with which it may end.
func (f *flow) outcomes(n *Node, z *zone) (outs []edge, ends []string, err error) {
	in := &f.program[n.IP]
	e := edge{ip: n.IP + 1, flags: n.Flags, zone: z, mod: n.Mod}
	for r := range e.after {
		e.after[r] = variable(r + 1)
	}
	switch in.Op {
	case code.Stop:
		return nil, []string{in.Code}, nil
	case code.Havoc:
		return nil, nil, errors.New("what happens here is unknown")
	case code.Jump:
		e.ip = in.To
	case code.Left, code.Right, code.Nop:
	case code.Write:
		return []edge{e}, nil, f.writes(n, z, in)
	case code.Read:
		e.assign(int(in.Reg), ranged(&e, f.Cell.Low, f.Cell.High), f.Cell.Mod)
	case code.Move:
		v, c := operand(in.A, &n.Mod)
		e.assign(int(in.Reg), v, c)
	case code.Cmp:
		return e.compared(in), nil, nil
	case code.JE, code.JNE, code.JG, code.JL:
		return e.branches(in)
	case code.Add, code.Sub:
		ends = e.sum(in)
	default:
		if ends = e.product(in); len(ends) == 1 && ends[0] == always {
			return nil, []string{code.DivisionByZero}, nil
		}
	}
	return []edge{e}, ends, nil
}

// always marks an instruction that cannot succeed.
const always = "always"

func (e *edge) assign(r int, v form, c Residue) { e.after[r], e.mod[r] = v, c }

// operand is the form and the residue of an operand.
func operand(v code.Value, mod *[code.Registers]Residue) (form, Residue) {
	if v.Reg == code.Literal {
		return constant(v.Lit), Residue{0, v.Lit}
	}
	return variable(int(v.Reg) + 1), mod[v.Reg]
}

// ranged is the form of a new value in a range; the edge gets its own zone.
func ranged(e *edge, low, high int64) form {
	z := *e.zone
	z.tighten(fresh, 0, high)
	if low != math.MinInt64 {
		z.tighten(0, fresh, -low)
	}
	z.close()
	e.zone = &z
	return variable(fresh)
}

func (f *flow) writes(n *Node, z *zone, in *code.Inst) error {
	v, c := operand(in.A, &n.Mod)
	if low, high := span(z, v); low < f.Cell.Low || high > f.Cell.High || !c.within(f.Cell.Mod) {
		return errors.New("it may write what the range of cells excludes")
	}
	return nil
}

// span is the range of a form's value, within 64 bits.
func span(z *zone, v form) (low, high int64) {
	low, ok := z.lower(v)
	if !ok {
		low = math.MinInt64
	}
	return low, z.upper(v)
}

// compared are the outcomes of CMP, each with the order that it implies.
func (e edge) compared(in *code.Inst) []edge {
	a, am := operand(code.Value{Reg: int8(in.Reg)}, &e.mod)
	b, bm := operand(in.A, &e.mod)
	var outs []edge
	for flags := code.Less; flags <= code.Greater; flags++ {
		if in.A.Reg == code.Literal && (flags == code.Less && in.A.Lit == math.MinInt64 || flags == code.Greater && in.A.Lit == math.MaxInt64) {
			continue // nothing is beyond the range
		}
		z := *e.zone
		switch flags {
		case code.Less:
			z.assume(a, b, -1)
		case code.Greater:
			z.assume(b, a, -1)
		default:
			if !am.meets(bm) {
				continue
			}
			z.assume(a, b, 0)
			z.assume(b, a, 0)
		}
		if z.settle(&e.mod) {
			o := e
			o.zone, o.flags, o.slot = &z, Outcome(flags), int(flags-code.Less)
			outs = append(outs, o)
		}
	}
	return outs
}

// assume adds a - b <= c for a and b that are variables or constants.
func (z *zone) assume(a, b form, c int64) {
	i, _ := first(&a.coef, 1)
	j, _ := first(&b.coef, 1)
	if i == j {
		i, j = 0, 0
	}
	// a - b <= c is x_i - x_j <= c + (b.k - a.k)
	d := constant(c).plus(1, constant(b.k)).plus(-1, constant(a.k))
	if !d.ok {
		return
	}
	if i == j {
		z[0][0] = min(z[0][0], d.k)
		return
	}
	z.tighten(i, j, d.k)
}

// branches are the outcomes of a conditional jump.
func (e edge) branches(in *code.Inst) (outs []edge, ends []string, err error) {
	taken := e
	taken.ip = in.To
	switch {
	case e.flags == Unset:
		return nil, []string{code.FlagsUnset}, nil
	case e.flags == Any:
		taken.slot = 1
		return []edge{e, taken}, nil, nil
	case in.Op.Taken(code.Flags(e.flags)):
		return []edge{taken}, nil, nil
	}
	return []edge{e}, nil, nil
}

// sum is ADD or SUB; it returns overflow when that is possible. After success
// the result fits, which the zone then says by no bound at all.
func (e *edge) sum(in *code.Inst) (ends []string) {
	a, am := operand(code.Value{Reg: int8(in.Reg)}, &e.mod)
	b, bm := operand(in.A, &e.mod)
	sign := int64(1)
	if in.Op == code.Sub {
		sign = -1
	}
	v := a.plus(sign, b)
	if _, bounded := e.zone.lower(v); !bounded || e.zone.upper(v) == none {
		ends = []string{code.Overflow}
	}
	if !v.ok { // a literal of MinInt64: only its residue and range are known
		v = ranged(e, math.MinInt64, math.MaxInt64)
	}
	e.assign(int(in.Reg), v, am.plus(bm.times(sign)))
	return ends
}
