package halting

import (
	"git-ward/vm/halting/code"
)

const outOfTime = "the time for the analysis ended before a decider knew"

// undecided is the report when no decider knows: the loops that nothing bounds,
// and whether it is the tape or a tool that they depend on.
func (s *search) undecided() Report {
	r := Report{Risk: Unknown, Loops: []Loop{}, Reason: "no decider could prove that it halts, or that it does not"}
	tainted := taint(s.program)
	for _, c := range s.openLoops() {
		l := Loop{Reason: "nothing was found that bounds its rounds"}
		for _, ip := range c {
			in := &s.program[ip]
			if l.StartLine == 0 || in.Label < l.StartLine {
				l.StartLine = in.Label
			}
			l.EndLine = max(l.EndLine, in.Line)
			if in.Op == code.Cmp && tainted&(1<<in.Reg|operandBit(in.A)) != 0 {
				l.Reason = "its exit depends on what the tape or a tool gives"
				r.Risk, r.Reason = Medium, "whether it halts depends on what the tape or a tool gives; no decider could follow that"
			}
		}
		r.Loops = append(r.Loops, l)
	}
	if s.ctx.Err() != nil {
		// A decider that was cut short might have known the worst.
		r.Risk, r.Reason = Unknown, outOfTime
	}
	return r
}

// openLoops are the instructions of each loop that is not ranked; of every loop
// when the abstract interpretation was not finished.
func (s *search) openLoops() (open [][]int) {
	if s.ranker == nil {
		for _, c := range newTarjan(len(s.program), func(i int) (to []int) {
			for _, n := range successors(s.program, int32(i)) {
				to = append(to, int(n))
			}
			return to
		}).all() {
			open = append(open, c)
		}
		return open
	}
	for _, c := range append(s.ranker.unranked, s.ranker.overflowing...) {
		ips := make([]int, len(c))
		for i, n := range c {
			ips[i] = int(s.abstract.nodes[n].ip)
		}
		open = append(open, ips)
	}
	return open
}

// taint is which registers may hold what came from the tape or a tool, at any
// time.
func taint(p code.Program) (tainted liveSet) {
	for changed := true; changed; {
		old := tainted
		for i := range p {
			in := &p[i]
			switch in.Op {
			case code.Read:
				tainted |= 1 << in.Reg
			case code.Mul, code.Div, code.Mod, code.Min, code.Max:
				tainted |= 1
			case code.Havoc:
				tainted |= 1<<code.Registers - 1
			case code.Move, code.Add, code.Sub:
				if operandBit(in.A)&tainted != 0 {
					tainted |= 1 << in.Reg
				}
			}
		}
		changed = tainted != old
	}
	return tainted
}
