package checks

import "git-ward/internal/diag"

// Answer is a judgement as JSON: what -o ward.format=json and `git ward lint
// --json` print on one line.
type Answer struct {
	Verdict   string            `json:"verdict"` // admitted or refused
	Principal Principal         `json:"principal"`
	Push      string            `json:"push,omitempty"`
	Count     int               `json:"count"`    // all findings
	Findings  []diag.Diagnostic `json:"findings"` // the first diag.MaxListed
}

// NewAnswer words a result for a push id, "" outside a push.
func NewAnswer(r *Result, p Principal, push string) Answer {
	a := Answer{Verdict: "admitted", Principal: p, Push: push, Count: len(r.Findings), Findings: []diag.Diagnostic{}}
	if r.Refused() {
		a.Verdict = "refused"
	}
	a.Findings = append(a.Findings, r.Findings[:min(len(r.Findings), diag.MaxListed)]...)
	return a
}
