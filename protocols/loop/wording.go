package loop

// VerdictWords is a verdict's result (EXACT, CONVERGED, NONE) in words for people; "" for
// none.
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
