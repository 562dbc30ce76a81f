package loop

import (
	"slices"
	"testing"
)

// TestGuarded: what held before the work proves nothing of it: criteria for EXACT, the residual
// for CONVERGED (PROOF-3).
func TestGuarded(t *testing.T) {
	t.Parallel()
	held, proof := Outcome{Criterion: "a", Met: true, Before: true}, Outcome{Criterion: "b", Met: true}
	for name, c := range map[string]struct {
		Verdict
		asks bool
	}{
		"guards":                           {Verdict{Verdict: Exact, Criteria: []Outcome{held}}, true},
		"a guard and a proof":              {Verdict{Verdict: Exact, Criteria: []Outcome{held, proof}}, false},
		"a residual that was low":          {Verdict{Verdict: Converged, Criteria: []Outcome{proof}, ResidualRun: &held}, true},
		"a residual that was not":          {Verdict{Verdict: Converged, Criteria: []Outcome{held}, ResidualRun: &proof}, false},
		"nothing is proved, and so be it":  {Verdict{Verdict: None, Criteria: []Outcome{held}, ResidualRun: &held}, false},
		"EXACT, and the residual was zero": {Verdict{Verdict: Exact, Criteria: []Outcome{proof}, ResidualRun: &held}, false},
	} {
		v := c.Verdict.Guarded()
		if v.OnlyGuards != c.asks || c.asks != (v.Verdict != c.Verdict.Verdict) || c.asks && v.Reason == "" {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// TestNotSeen: a criterion whose tests were not seen to end is named, where it proves something.
func TestNotSeen(t *testing.T) {
	t.Parallel()
	v := Verdict{Criteria: []Outcome{{Criterion: "a", Control: ControlNotSeen, Before: true}, {Criterion: "b", Control: ControlNotSeen}, {Criterion: "c", Control: ControlFails}}}
	if got := v.NotSeen(); !slices.Equal(got, []string{"b"}) {
		t.Errorf("%q", got)
	}
}

// TestAgainstBeyond: of two verdicts' doubts those are new that the other does not name.
func TestAgainstBeyond(t *testing.T) {
	known := Verdict{Observed: Observed{Lost: []string{"TestA"}, RewrittenNot: "x"}}
	now := Verdict{Observed: Observed{Lost: []string{"TestA", "TestB"}, RewrittenNot: "x"}}
	var words []string
	for _, d := range now.AgainstBeyond(known) {
		words = append(words, d.Words())
	}
	if want := []string{"1 lost test: TestB"}; !slices.Equal(words, want) || len(now.AgainstBeyond(now)) > 0 || len(now.AgainstBeyond(Verdict{})) != 2 {
		t.Errorf("%q", words)
	}
}
