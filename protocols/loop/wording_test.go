package loop

import (
	"strings"
	"testing"

	"git-ward/protocols/comms"
)

// No status and no verdict is said in its letter-form.
func TestWording(t *testing.T) {
	for _, s := range Statuses() {
		if w := comms.Status(s).Words(); w == "" || strings.Contains(w, "EXIT_") {
			t.Errorf("%s: %q", s, w)
		}
	}
	for _, v := range []string{Exact, Converged, None} {
		if w := VerdictWords(v); w == v || w == "" {
			t.Errorf("%s: %q", v, w)
		}
	}
}
