package cycle

import "testing"

// TestPathsOfThePM: a directive may speak of a machine's own paths, and in any words. What
// the learnings repeat of it does not keep the next capsule from being made.
func TestPathsOfThePM(t *testing.T) {
	t.Parallel()
	const text = "Remember that logs go to /var/log/app, as we discussed.\n\n- [ ] as discussed, /tmp/left is gone (`test ! -e /tmp/left`)\n- [ ] as discussed, /home/app is said to be so\n- residual: `cat /var/left`\n- certificates: EXACT, CONVERGED\n- R_p: 1e-3\n- max_iterations: 3\n"
	s := newSite(t, text, 0)
	s.residuals = []string{"2", "1", "0"}
	if how, report := s.ends(); report.Iterations != 3 {
		t.Errorf("%s after %d iterations: %s", how, report.Iterations, report.Failed)
	}
}
