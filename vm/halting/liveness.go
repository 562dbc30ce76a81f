package halting

import "git-ward/vm/halting/code"

// liveSet has a bit for each register, and flagsBit for the flags, that some
// instruction may still read before it is written again.
type liveSet uint8

const flagsBit liveSet = 1 << code.Registers

// forget clears what is dead.
func (l liveSet) forget(c control) control {
	for r := range c.regs {
		if l&(1<<r) == 0 {
			c.regs[r] = 0
		}
	}
	if l&flagsBit == 0 {
		c.flags = code.Unset
	}
	return c
}

// liveness is the backward data flow of what is live before each instruction.
// That INC reads its register matters: it may overflow.
func liveness(p code.Program) []liveSet {
	live := make([]liveSet, len(p))
	before := predecessors(p)
	queue := make([]int32, 0, len(p))
	queued := make([]bool, len(p))
	for i := range p {
		queue = append(queue, int32(i))
		queued[i] = true
	}
	for len(queue) > 0 {
		i := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		queued[i] = false
		var after liveSet
		for _, n := range successors(p, i) {
			after |= live[n]
		}
		uses, kills := effects(&p[i])
		if now := after&^kills | uses; now != live[i] {
			live[i] = now
			for _, b := range before[i] {
				if !queued[b] {
					queue, queued[b] = append(queue, b), true
				}
			}
		}
	}
	return live
}

// effects are what an instruction reads and what it surely overwrites.
func effects(in *code.Inst) (uses, kills liveSet) {
	a, b, r := operandBit(in.A), operandBit(in.B), liveSet(1)<<in.Reg
	switch in.Op {
	case code.Read:
		return 0, r
	case code.Write:
		return a, 0
	case code.Move:
		return a, r
	case code.Add, code.Sub:
		return a | r, 0
	case code.Cmp:
		return a | r, flagsBit
	case code.JE, code.JNE, code.JG, code.JL:
		return flagsBit, 0
	case code.Mul, code.Div, code.Mod, code.Min, code.Max:
		return a | b, 1
	case code.Havoc:
		return 1<<code.Registers - 1 | flagsBit, 0
	}
	return 0, 0
}

func operandBit(v code.Value) liveSet {
	if v.Reg == code.Literal {
		return 0
	}
	return 1 << v.Reg
}

// successors are the instructions that may follow one.
func successors(p code.Program, i int32) []int32 {
	switch in := &p[i]; {
	case in.Op == code.Stop:
		return nil
	case in.Op == code.Jump:
		return []int32{in.To}
	case in.Op.IsConditional():
		return []int32{i + 1, in.To}
	}
	return []int32{i + 1}
}

func predecessors(p code.Program) [][]int32 {
	before := make([][]int32, len(p))
	for i := range p {
		for _, n := range successors(p, int32(i)) {
			before[n] = append(before[n], int32(i))
		}
	}
	return before
}
