package halting

import "git-ward/vm/halting/code"

// maxModes bounds the combinations of values that modes may have.
const maxModes = 64

// modes finds the registers that only ever get literals, few in all: they say
// what the plan is about to do, not how far it is. Abstract states are kept apart
// by their values, so that a loop which first counts up and then down is two.
func modes(p code.Program) (is [code.Registers]bool) {
	var values [code.Registers]map[int64]bool
	for r := range values {
		values[r] = map[int64]bool{0: true}
	}
	for i := range p {
		in := &p[i]
		switch in.Op {
		case code.Move:
			if in.A.Reg == code.Literal {
				if values[in.Reg] != nil {
					values[in.Reg][in.A.Lit] = true
				}
				continue
			}
			values[in.Reg] = nil
		case code.Read, code.Add, code.Sub:
			values[in.Reg] = nil
		case code.Mul, code.Div, code.Mod, code.Min, code.Max:
			values[0] = nil
		}
	}
	combinations := 1
	for r, set := range values {
		if len(set) > 1 && combinations*len(set) <= maxModes {
			combinations *= len(set)
			is[r] = true
		}
	}
	return is
}
