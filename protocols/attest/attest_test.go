package attest

import (
	"encoding/json"
	"strings"
	"testing"

	"git-ward/protocols/loop"
)

// TestStatement: a statement says which commit and verdict it is about, and a verdict that
// does not hold is no passed test.
func TestStatement(t *testing.T) {
	commit := strings.Repeat("c0", 20)
	v := loop.Verdict{SchemaVersion: loop.SchemaVersion, Unit: "D-1.1", Commit: commit, Claim: strings.Repeat("a", 64), DirectiveHash: strings.Repeat("d", 64),
		Verdict: loop.Exact, Lane: loop.LaneA, Reason: "every criterion is met", Base: strings.Repeat("b", 40), Image: "localhost/ward:1",
		Criteria: []loop.Outcome{{Criterion: "it \"works\"\nand more", Command: "true", Met: true}}}
	made, err := Of(v)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(made)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(payload)
	if err != nil {
		t.Fatal(err)
	}
	changed := v
	changed.Reason = "somebody says so"
	if s.Commit() != commit || s.Claim() != v.Claim || !s.Attests(v) || s.Attests(changed) || s.Predicate.Result != "PASSED" || len(s.Predicate.Passed) != 1 {
		t.Errorf("%+v", s)
	}
	for _, no := range []func(v *loop.Verdict){func(v *loop.Verdict) { v.Verdict = loop.None }, func(v *loop.Verdict) { v.Untried = true }} {
		failed := v
		no(&failed)
		if s, err := Of(failed); err != nil || s.Predicate.Result != "FAILED" {
			t.Errorf("%+v %v", s, err)
		}
	}
	for _, other := range []string{"", "{}", strings.Replace(string(payload), "test-result", "provenance", 1), strings.Replace(string(payload), "Statement/v1", "Statement/v0.1", 1)} {
		if _, err := Parse([]byte(other)); err == nil {
			t.Errorf("%.80s is taken for a test result", other)
		}
	}
}
