package loop

import "testing"

// TestConvergedNeedsAll: a residual below its tolerance is no CONVERGED while a criterion's
// command did not come to an end of its own (LOOP-11; 003, section 12).
func TestConvergedNeedsAll(t *testing.T) {
	p := Declaration{Certificates: []string{Converged}, Rp: count(2), Residual: "r", Commands: []Criterion{{"a", "true"}, {"b", "slow"}}}
	met, unmet := Outcome{Criterion: "a", Command: "true", Met: true}, Outcome{Criterion: "b", Command: "slow", ExitCode: 1}
	timeout := unmet
	timeout.Trouble = "it took longer than [verify] timeout"
	for name, c := range map[string]struct {
		outcomes []Outcome
		want     string
	}{
		"both ran, one is not met": {[]Outcome{met, unmet}, Converged},
		"one came to no end":       {[]Outcome{met, timeout}, None},
		"one did not run":          {[]Outcome{met}, None},
	} {
		trial := Trial{Criteria: c.outcomes, Residual: &Outcome{Command: "r", Met: true}, Value: count(1)}
		if got, why := p.judge(trial); got != c.want {
			t.Errorf("%s: %s, %s; want %s", name, got, why, c.want)
		}
	}
}
