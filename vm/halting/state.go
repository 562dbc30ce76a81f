package halting

import (
	"math"

	"git-ward/vm/halting/code"
	"git-ward/vm/halting/proof"
)

// facts are what is known of the registers at a point: bounds of their values
// and differences, and their residues.
type facts struct {
	zone zone
	mod  [code.Registers]residue
}

// concrete are the facts of known values.
func concrete(regs [code.Registers]int64) facts {
	var f facts
	for i := range dims {
		for j := range dims {
			if i != j {
				f.zone[i][j] = open
			}
		}
	}
	for r, v := range regs {
		f.zone.cut(r+1, 0, v)
		if v != math.MinInt64 {
			f.zone.cut(0, r+1, -v)
		}
		f.mod[r] = exactly(v)
	}
	f.zone.close()
	return f
}

// settle makes bounds and residues sharpen each other; false when nothing
// satisfies them.
func (f *facts) settle() bool {
	if !f.zone.close() {
		return false
	}
	for r, c := range f.mod {
		v := r + 1
		if c.m == 0 {
			f.zone.cut(v, 0, c.r)
			if c.r != math.MinInt64 {
				f.zone.cut(0, v, -c.r)
			}
			continue
		}
		low, high := c.inward(f.zone.low(v), f.zone.high(v))
		if high != open {
			f.zone.cut(v, 0, high)
		}
		if low != math.MinInt64 {
			f.zone.cut(0, v, -low)
		}
	}
	if !f.zone.close() {
		return false
	}
	for r := range f.mod {
		if low, high := f.zone.low(r+1), f.zone.high(r+1); low == high {
			f.mod[r] = exactly(low)
		}
	}
	return true
}

func (f *facts) join(g *facts) (changed bool) {
	changed = f.zone.join(&g.zone)
	return f.joinMod(g) || changed
}

func (f *facts) joinMod(g *facts) (changed bool) {
	for r := range f.mod {
		if j := f.mod[r].join(g.mod[r]); j != f.mod[r] {
			f.mod[r], changed = j, true
		}
	}
	return changed
}

// cells are what any cell of the tape may hold, at any time.
type cells struct {
	low, high int64
	mod       residue
}

func (c *cells) admit(low, high int64, mod residue) (changed bool) {
	if low < c.low {
		c.low, changed = low, true
	}
	if high > c.high {
		c.high, changed = high, true
	}
	if j := c.mod.join(mod); j != c.mod {
		c.mod, changed = j, true
	}
	return changed
}

// operand is the range and residue of an operand.
func (f *facts) operand(v code.Value) (low, high int64, mod residue) {
	if v.Reg == code.Literal {
		return v.Lit, v.Lit, exactly(v.Lit)
	}
	r := int(v.Reg) + 1
	return f.zone.low(r), f.zone.high(r), f.mod[v.Reg]
}

// outcome is one way on from an instruction: for CMP slot 0 is less, 1 equal, 2
// greater; for a conditional jump whose flags are open 0 is not taken, 1 taken.
// What is added to register reg is from least to most; with noRegister none
// changes.
type outcome struct {
	slot        int
	ip          int32
	flags       proof.Outcome
	facts       facts
	reg         int
	least, most int64
}

const noRegister = -1

// assign gives register r a value in a range.
func (o *outcome) assign(r int, low, high int64, mod residue) {
	f := &o.facts
	oldLow, oldHigh := f.zone.low(r+1), f.zone.high(r+1)
	o.reg, o.least, o.most = r, difference(low, oldHigh, math.MinInt64), difference(high, oldLow, open)
	f.zone.drop(r + 1)
	f.zone.bound(r+1, low, high)
	f.mod[r] = mod
}

// difference is a - b, or the given default where it does not fit or a side is
// no bound.
func difference(a, b, unknown int64) int64 {
	if a == math.MinInt64 || a == open || b == math.MinInt64 || b == open {
		return unknown
	}
	if d := a - b; (d <= a) == (b >= 0) {
		return d
	}
	return unknown
}

// step lists the outcomes of an instruction in the order that the checker
// expects, and the codes with which it may end.
func step(in *code.Inst, ip int32, flags proof.Outcome, f *facts, tape *cells) (outs []outcome, ends []string) {
	o := outcome{ip: ip + 1, flags: flags, facts: *f, reg: noRegister}
	switch in.Op {
	case code.Stop:
		return nil, []string{in.Code}
	case code.Jump:
		o.ip = in.To
	case code.Read:
		o.assign(int(in.Reg), tape.low, tape.high, tape.mod)
	case code.Move:
		o.move(in)
	case code.Cmp:
		return compare(in, &o), nil
	case code.JE, code.JNE, code.JG, code.JL:
		return branch(in, o)
	case code.Add, code.Sub:
		ends = o.add(in)
	case code.Mul, code.Div, code.Mod, code.Min, code.Max:
		var possible bool
		if ends, possible = o.tool(in); !possible {
			return nil, ends
		}
	}
	return []outcome{o}, ends
}

func (o *outcome) move(in *code.Inst) {
	r := int(in.Reg)
	if in.A.Reg == code.Literal {
		o.assign(r, in.A.Lit, in.A.Lit, exactly(in.A.Lit))
		return
	}
	f, s := &o.facts, int(in.A.Reg)
	o.reg, o.most, o.least = r, f.zone[s+1][r+1], math.MinInt64
	if b := f.zone[r+1][s+1]; b != open && b != math.MinInt64 {
		o.least = -b
	}
	f.zone.copyOf(r+1, s+1)
	f.mod[r] = f.mod[s]
}

// compare are the outcomes of CMP: less, equal, greater, where possible.
func compare(in *code.Inst, o *outcome) (outs []outcome) {
	a, b, k := int(in.Reg)+1, 0, in.A.Lit
	_, _, mod := o.facts.operand(in.A)
	if in.A.Reg != code.Literal {
		b, k = int(in.A.Reg)+1, 0
	}
	// x_a - x_b against k
	for flags := code.Less; flags <= code.Greater; flags++ {
		n := *o
		n.slot, n.flags = int(flags-code.Less), proof.Outcome(flags)
		z := &n.facts.zone
		switch {
		case a == b && flags != code.Equal:
			continue
		case a == b:
		case flags == code.Less:
			if k == math.MinInt64 {
				continue
			}
			z.cut(a, b, k-1)
		case flags == code.Equal:
			if o.facts.mod[in.Reg].disjoint(mod) {
				continue
			}
			z.cut(a, b, k)
			if k != math.MinInt64 {
				z.cut(b, a, -k)
			}
		case flags == code.Greater:
			if b == 0 && k == math.MaxInt64 {
				continue
			}
			if k != math.MinInt64 {
				z.cut(b, a, -k-1)
			}
		}
		if n.facts.settle() {
			outs = append(outs, n)
		}
	}
	return outs
}

func branch(in *code.Inst, o outcome) ([]outcome, []string) {
	taken := o
	taken.ip = in.To
	switch {
	case o.flags == proof.Unset:
		return nil, []string{code.FlagsUnset}
	case o.flags == proof.Any:
		taken.slot = 1
		return []outcome{o, taken}, nil
	case in.Op.Taken(code.Flags(o.flags)):
		return []outcome{taken}, nil
	}
	return []outcome{o}, nil
}

// add is ADD and SUB; it returns overflow where that is possible.
func (o *outcome) add(in *code.Inst) (ends []string) {
	if in.A.Reg == int8(in.Reg) {
		return o.twice(in.Op, int(in.Reg))
	}
	f, r, v := &o.facts, int(in.Reg), int(in.Reg)+1
	low, high, mod := f.operand(in.A)
	upper, lower := int64(open), int64(open) // of the result, and of its negative
	if in.Op == code.Add {
		f.mod[r] = f.mod[r].plus(mod)
	} else {
		if in.A.Reg != code.Literal {
			w := int(in.A.Reg) + 1
			upper, lower = f.zone[v][w], f.zone[w][v]
		}
		low, high = negateRange(low, high)
		f.mod[r] = f.mod[r].minus(mod)
	}
	o.reg, o.least, o.most = r, low, high
	f.zone.shift(v, low, high)
	f.zone.cut(v, 0, upper)
	f.zone.cut(0, v, lower)
	if f.zone.high(v) == open || f.zone.low(v) == math.MinInt64 {
		ends = []string{code.Overflow}
	}
	f.zone.close()
	return ends
}

// twice is ADD r r or SUB r r.
func (o *outcome) twice(op code.Op, r int) (ends []string) {
	f := &o.facts
	if op == code.Sub {
		o.assign(r, 0, 0, exactly(0))
		return nil
	}
	v := r + 1
	low, high := f.zone.low(v), f.zone.high(v)
	mod := f.mod[r].plus(f.mod[r])
	least, most := low, high
	high = sum(high, high)
	if b := f.zone[0][v]; b != open && sum(b, b) != open && sum(b, b) != math.MinInt64 {
		low = -sum(b, b)
	} else {
		low = math.MinInt64
	}
	f.zone.drop(v)
	f.zone.bound(v, low, high)
	f.mod[r] = mod
	o.reg, o.least, o.most = r, least, most
	if high == open || low == math.MinInt64 {
		ends = []string{code.Overflow}
	}
	return ends
}

// negateRange is the range of the negatives; MinInt64 and open are no bounds.
func negateRange(low, high int64) (int64, int64) {
	least, most := int64(math.MinInt64), int64(open)
	if high != open && high != math.MinInt64 {
		least = -high
	}
	if low != math.MinInt64 {
		most = -low
	}
	return least, most
}
