package loop

import "git-ward/protocols/comms"

// Words is how a loop ended, for people; reports, certificates and COMMS.md have the
// letter-form.
func (s Status) Words() string { return comms.Status(s).Words() }

// VerdictWords is what a verdict says (EXACT, CONVERGED, NONE), for people; "" for none.
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
