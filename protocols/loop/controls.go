package loop

import (
	"fmt"
	"slices"
)

// The results of the controls of a verdict's criteria, and the doubts that follow from them.

// HeldBefore reports whether every criterion was met before the work. Then none proves anything
// about the work (PROOF-3).
func (v Verdict) HeldBefore() bool {
	return len(v.Criteria) > 0 && !slices.ContainsFunc(v.Criteria, func(o Outcome) bool { return !o.Before })
}

// AnyValue lists the criteria that pass even if their tests compare with other values (PROOF-3).
func (v Verdict) AnyValue() []string {
	return v.controlled(func(o Outcome) bool { return o.Control == ControlAnyValue })
}

func (v Verdict) controlled(so func(Outcome) bool) (list []string) {
	for _, o := range v.Criteria {
		if so(o) {
			list = append(list, o.Criterion)
		}
	}
	return list
}

// NotSeen lists the criteria that failed before the work and fail with every test broken, but not
// all of whose tests were seen to run to their end (PROOF-3).
func (v Verdict) NotSeen() []string {
	return v.controlled(func(o Outcome) bool { return o.Control == ControlNotSeen && !o.Before })
}

// Hear returns the verdict with the controls' results for held-out criteria, which only the host
// knows. Those are the last criteria; "" means that no control was tried (PROOF-5).
func (v Verdict) Hear(says []string) Verdict {
	v.Criteria = slices.Clone(v.Criteria)
	for i, o := range slices.Backward(v.Criteria) {
		n := len(says) - len(v.Criteria) + i
		if n < 0 {
			break
		}
		o.Control = says[n]
		v.Criteria[i] = o
	}
	return v
}

// Doubt is a reason, named by the verdict itself, not to trust its result (PROOF-2 to PROOF-4).
type Doubt struct {
	One, Many string   // what the doubt is, in the singular and the plural
	Of        []string // the tests, criteria or files in doubt; empty if One says all
	Seen      bool     // the work was seen to do it; false if Ward could not find out
}

// Words describes the doubt on one line: how many tests, criteria or files, and which.
func (d Doubt) Words() string {
	switch n := len(d.Of); n {
	case 0:
		return d.One
	case 1:
		return "1 " + d.One + ": " + d.Of[0]
	default:
		return fmt.Sprintf("%d %s: %s", n, d.Many, some(d.Of))
	}
}

// Lines describes the doubt with one line for each element of Of.
func (d Doubt) Lines() []string {
	if len(d.Of) == 0 {
		return []string{d.One}
	}
	return each(d.Of, func(of string) string { return d.One + ": " + of })
}

// Against lists all doubts that the verdict names. All code that acts on a verdict or shows it
// calls Against, so that no reader misses a doubt.
func (v Verdict) Against() (list []Doubt) {
	of := func(seen bool, one, many string, names []string) {
		if len(names) > 0 {
			list = append(list, Doubt{one, many, names, seen})
		}
	}
	of(true, "lost test", "lost tests", v.Lost)
	of(true, "function of a test's that the work replaced", "functions of tests that the work replaced", v.Replaced)
	of(true, "comparison that holds with any value", "comparisons that hold with any value", v.Whatever)
	checkers := paths(v.Checkers)
	if v.CheckersMore > 0 {
		checkers = append(checkers, fmt.Sprintf("%d more than are listed", v.CheckersMore))
	}
	of(false, "changed file by which a command checks the work", "changed files by which commands check the work", checkers)
	of(true, "file outside the work that the commands rewrote", "files outside the work that the commands rewrote", v.Rewritten)
	if v.RewrittenNot != "" {
		list = append(list, Doubt{One: "what the commands rewrote is not known: " + v.RewrittenNot})
	}
	of(true, "file that a command opened without the work, but not with it", "files that commands opened without the work, but not with it", v.NotOpened)
	if v.NotOpenedWhy != "" {
		list = append(list, Doubt{One: "what the commands no longer open is not known: " + v.NotOpenedWhy})
	}
	if v.HeldBefore() {
		list = append(list, Doubt{One: "every criterion held before the work"})
	}
	of(true, "criterion that holds with other values in its tests", "criteria that hold with other values in their tests", v.AnyValue())
	of(false, "criterion whose tests were not seen to end", "criteria whose tests were not seen to end", v.NotSeen())
	of(false, "criterion that was not shown to be able to fail", "criteria that were not shown to be able to fail",
		v.controlled(func(o Outcome) bool { return o.Control == ControlNotTried && !o.Before }))
	return list
}

// AgainstBeyond lists the doubts that this verdict names and another does not.
func (v Verdict) AgainstBeyond(known Verdict) (list []Doubt) {
	for _, d := range v.Against() {
		i := slices.IndexFunc(known.Against(), func(k Doubt) bool { return k.One == d.One })
		if i >= 0 && len(d.Of) > 0 {
			of := known.Against()[i].Of
			d.Of = slices.DeleteFunc(slices.Clone(d.Of), func(name string) bool { return slices.Contains(of, name) })
		}
		if i < 0 || len(d.Of) > 0 {
			list = append(list, d)
		}
	}
	return list
}

// Guarded returns the verdict that v becomes if guards are not enough: EXACT needs a criterion that
// failed before the work, CONVERGED a residual that was not yet below R_p; else v waits for the
// PM's word (PROOF-3).
func (v Verdict) Guarded() Verdict {
	reason := "every criterion held before the work, so none proves it"
	switch {
	case v.Verdict == Exact && v.HeldBefore() && v.Unchanged:
		reason = "nothing was changed, and every criterion held before"
	case v.Verdict == Exact && v.HeldBefore():
	case v.Verdict == Converged && v.ResidualRun != nil && v.ResidualRun.Before:
		reason = "the residual was below R_p before the work, so it proves nothing of it"
	default:
		return v
	}
	v.Verdict, v.Lane, v.Rung, v.OnlyGuards, v.Reason = None, LaneC, 0, true, reason
	return v
}
