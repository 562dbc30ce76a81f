// Package attest writes a verdict as an in-toto attestation: a test result about one commit
// (PROOF-8). The host signs it, so that anybody can check it without Ward and without the
// host.
package attest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"git-ward/internal/diag"
	"git-ward/protocols/loop"
)

// Ref is the notes ref of attestations on judged commits, one envelope a line.
const Ref = "refs/notes/attestations"

// KeyFile is the private key for signing verdicts, relative to the repository's directory, and
// PublicFile the public one. Only the owner can read KeyFile.
const (
	KeyFile    = "ward/verdict.key"
	PublicFile = "ward/verdict.pub"
)

// The types of https://github.com/in-toto/attestation that a verdict is.
const (
	statementType = "https://in-toto.io/Statement/v1"
	predicateType = "https://in-toto.io/attestation/test-result/v0.1"
)

// Statement is in-toto's Statement v1 with a test result.
type Statement struct {
	Type          string     `json:"_type"`
	Subject       []Resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     Result     `json:"predicate"`
}

// Resource is in-toto's ResourceDescriptor, as far as a verdict needs it.
type Resource struct {
	Name        string            `json:"name,omitempty"`
	Digest      map[string]string `json:"digest,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Result is the test-result predicate, version 0.1: PASSED or FAILED, with the criteria by
// their texts.
type Result struct {
	Result        string     `json:"result"`
	Configuration []Resource `json:"configuration"`
	Passed        []string   `json:"passedTests,omitempty"`
	Failed        []string   `json:"failedTests,omitempty"`
}

// Of makes a verdict's statement. Its configuration has the hash of the verdict's line, so
// that a verdict changed later no longer matches.
func Of(v loop.Verdict) (*Statement, error) {
	line, err := v.Line()
	if err != nil {
		return nil, err
	}
	r := Result{Result: "FAILED", Configuration: []Resource{
		{Name: "verdict", Digest: map[string]string{"sha256": digest(line)}, Annotations: map[string]string{
			"verdict": v.Verdict, "reason": diag.Clean(v.Reason), "unit": v.Unit, "claim": v.Claim, "time": v.Time, "fence": v.Fence}},
		{Name: "directive", Digest: map[string]string{"sha256": v.DirectiveHash}},
	}}
	if v.Verdict != loop.None && !v.Untried {
		r.Result = "PASSED"
	}
	if v.Base != "" {
		r.Configuration = append(r.Configuration, Resource{Name: "base", Digest: map[string]string{"gitCommit": v.Base}})
	}
	if v.Image != "" {
		r.Configuration = append(r.Configuration, Resource{Name: "image", Annotations: map[string]string{"reference": v.Image}})
	}
	for _, c := range v.Criteria {
		if c.Passed() {
			r.Passed = append(r.Passed, c.Criterion)
		} else {
			r.Failed = append(r.Failed, c.Criterion)
		}
	}
	return &Statement{statementType, []Resource{{Name: v.Unit, Digest: map[string]string{"gitCommit": v.Commit}}}, predicateType, r}, nil
}

func digest(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

// Parse reads a signed statement.
func Parse(payload []byte) (*Statement, error) {
	var s Statement
	if err := json.Unmarshal(payload, &s); err != nil {
		return nil, fmt.Errorf("no statement: %w", err)
	}
	if s.Type != statementType || s.PredicateType != predicateType {
		return nil, fmt.Errorf("it is %.60q of %.60q, and no test result", s.PredicateType, s.Type)
	}
	return &s, nil
}

// Commit is the object id that a statement is about.
func (s *Statement) Commit() string {
	if len(s.Subject) != 1 {
		return ""
	}
	return s.Subject[0].Digest["gitCommit"]
}

// Claim is the hash of the claim that was judged.
func (s *Statement) Claim() string { return s.verdict().Annotations["claim"] }

// Attests reports whether a statement was made from exactly this verdict.
func (s *Statement) Attests(v loop.Verdict) bool {
	line, err := v.Line()
	return err == nil && s.verdict().Digest["sha256"] == digest(line)
}

func (s *Statement) verdict() Resource {
	for _, r := range s.Predicate.Configuration {
		if r.Name == "verdict" {
			return r
		}
	}
	return Resource{}
}
