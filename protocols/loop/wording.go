package loop

// VerdictWords describes a result (EXACT, CONVERGED, NONE) for people; "" for no verdict.
func VerdictWords(verdict string) string {
	switch verdict {
	case Exact:
		return "proved: every criterion is met"
	case Converged:
		return "proved: within its tolerance"
	case None:
		return "not proved"
	case "":
		return ""
	}
	return verdict
}
