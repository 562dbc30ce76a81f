package loop

// NotSeen are the criteria that did not hold before the work and fail with every test broken,
// but of whose tests none, or not each, was seen to come to its end (PROOF-3).
func (v Verdict) NotSeen() []string {
	return v.controlled(func(o Outcome) bool { return o.Control == ControlNotSeen && !o.Before })
}

// Guarded is the verdict where what held before the work is not enough: EXACT needs a
// criterion that did not, CONVERGED a residual, or either the PM's word (PROOF-3).
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
