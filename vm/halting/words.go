package halting

import (
	"fmt"
	"slices"

	"git-ward/internal/diag"
	"git-ward/vm/halting/code"
	"git-ward/vm/halting/proof"
)

// halted is the report on a run that ended.
func (s *search) halted(steps int64, end string) *Report {
	how, counted := "HALT", steps
	if end != "" {
		how = end
	}
	if end == code.NoHalt {
		counted--
	}
	return &Report{Risk: Low, Reason: fmt.Sprintf("it halts: a plan has no input, and executing this one ends with %s after %s", how, diag.Count(counted, "instruction")),
		Proof: &proof.Proof{Claim: proof.Halts, Run: &proof.Run{Steps: steps, Code: end}}}
}

// repeats is the report on a repetition. What was forgotten as dead may still
// differ after the first period, but not for longer than values take to be
// overwritten, so later starts are tried too.
func (s *search) repeats(c *proof.Cycle) *Report {
	p := &proof.Proof{Claim: proof.Never, Program: proof.Fingerprint(s.program), Cycle: c}
	for range code.Registers + 1 {
		if proof.Check(s.ctx, s.program, p, s.options.Limits()) == nil {
			break
		}
		c.At += c.Period
	}
	loop := s.visited(c.At, c.Period)
	reason := fmt.Sprintf("it never halts: after %s the same configuration comes back every %s", diag.Count(c.At, "instruction"), diag.Count(c.Period, "instruction"))
	if c.Shift != 0 {
		side := "right"
		if c.Shift < 0 {
			side = "left"
		}
		reason = fmt.Sprintf("it never halts: after %s the same happens again every %s, %s further to the %s on the tape", diag.Count(c.At, "instruction"), diag.Count(c.Period, "instruction"), diag.Count(max(c.Shift, -c.Shift), "cell"), side)
	}
	loop.Reason = "it repeats for ever"
	return &Report{Risk: High, Reason: reason, Loops: []Loop{loop}, Proof: p}
}

// closed is the report on a closed language.
func (s *search) closed(p *proof.Proof) *Report {
	loop := s.visited(p.Language.After, 20_000)
	loop.Reason = "whatever the head meets on the tape, none of it leads out"
	return &Report{Risk: High, Loops: []Loop{loop}, Proof: p,
		Reason: fmt.Sprintf("it never halts: the tape around the head is always one of %s, and no step from any of them ends the plan", diag.Count(int64(len(p.Language.Views)), "local view"))}
}

func (s *search) neverEnds(a *abstraction) *Report {
	return &Report{Risk: High, Loops: a.loops(a.closedComponents(), "no exit of it can be taken"), Proof: a.proof(proof.Never, nil),
		Reason: "it never halts: with the values that registers and cells can have, no HALT, error or overflow is ever reached"}
}

func (s *search) onlyOverflow(a *abstraction) *Report {
	return &Report{Risk: High, Loops: a.loops(a.closedComponents(), "left only when a register overflows"), Proof: a.proof(proof.Overflow, nil),
		Reason: "it ends only by integer overflow (" + code.Overflow + "): with the values that registers and cells can have, no other exit is ever taken"}
}

func (s *search) ranked(a *abstraction, r *ranker) *Report {
	return &Report{Risk: Low, Proof: a.proof(proof.Halts, r.levels), Reason: "it halts: " + r.explain()}
}

// explain names the measures of a ranking, the outermost first.
func (r *ranker) explain() string {
	if len(r.levels) == 0 {
		return "it has no loop"
	}
	var parts []string
	for _, l := range r.levels {
		first, last := r.lines(l.Nodes)
		part := fmt.Sprintf("in the loop of %s, %s", lines(first, last), measure(l.Weight))
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	if len(parts) > 4 {
		parts = append(parts[:4], fmt.Sprintf("and %d more", len(parts)-4))
	}
	out := parts[0]
	for _, p := range parts[1:] {
		out += "; " + p
	}
	return out
}

// measure says in words which way a ranking goes.
func measure(w [code.Registers]int64) string {
	plus, minus := "", ""
	for i, c := range w {
		switch {
		case c > 0:
			plus += fmt.Sprintf(" + R%d", i)
		case c < 0:
			minus += fmt.Sprintf(" + R%d", i)
		}
	}
	switch {
	case minus == "":
		return plus[3:] + " falls to a bound"
	case plus == "":
		return minus[3:] + " grows to a bound"
	}
	return "the distance of " + plus[3:] + " from " + minus[3:] + " falls to a bound"
}

func lines(first, last int) string {
	if first == last {
		return fmt.Sprintf("line %d", first)
	}
	return fmt.Sprintf("lines %d to %d", first, last)
}

// lines spans the lines of nodes.
func (a *abstraction) lines(nodes []int) (first, last int) {
	for _, n := range nodes {
		in := &a.program[a.nodes[n].ip]
		if first == 0 || in.Label < first {
			first = in.Label
		}
		last = max(last, in.Line)
	}
	return first, last
}

// loops are components as a reader sees them, each span once.
func (a *abstraction) loops(cs []component, reason string) (all []Loop) {
	for _, c := range cs {
		first, last := a.lines(c)
		if l := (Loop{first, last, reason}); !slices.Contains(all, l) {
			all = append(all, l)
		}
	}
	return all
}

// closedComponents are the loops that control cannot leave.
func (a *abstraction) closedComponents() (closed []component) {
	for _, c := range newTarjan(len(a.nodes), func(n int) []int { return a.nodes[n].to }).all() {
		left := slices.ContainsFunc(c, func(n int) bool {
			return slices.ContainsFunc(a.nodes[n].to, func(m int) bool { _, in := slices.BinarySearch(c, m); return !in })
		})
		if !left {
			closed = append(closed, c)
		}
	}
	return closed
}

// visited is the span of lines that are executed from one step on.
func (s *search) visited(after, period int64) Loop {
	var l Loop
	proof.Follow(s.ctx, s.program, after, min(period, 1_000_000), func(in *code.Inst) {
		if l.StartLine == 0 || in.Label < l.StartLine {
			l.StartLine = in.Label
		}
		l.EndLine = max(l.EndLine, in.Line)
	})
	return l
}
