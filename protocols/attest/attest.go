// Package attest words a verdict as an in-toto attestation: a test result about one commit,
// in a DSSE envelope that the host's ssh key signed (PROOF-8). Who has neither Ward nor the
// host can check it with ssh-keygen.
package attest

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"golang.org/x/crypto/ssh"

	"git-ward/internal/diag"
	"git-ward/protocols/loop"
)

// Ref is where attestations are: notes on judged commits, an envelope a line.
const Ref = "refs/notes/attestations"

// MaxEnvelope bounds one envelope, in bytes.
const MaxEnvelope = 256 << 10

// The types of https://github.com/in-toto/attestation that a verdict is.
const (
	payloadType   = "application/vnd.in-toto+json"
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

// Of is what a verdict attests. Its configuration names the verdict's own line by hash, so
// that a verdict which was changed afterwards is not the one that was signed.
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
		if c.Met && c.Trouble == "" {
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

// Commit is the object id that a statement is about.
func (s *Statement) Commit() string {
	if len(s.Subject) != 1 {
		return ""
	}
	return s.Subject[0].Digest["gitCommit"]
}

// Claim is the hash of the claim that was judged.
func (s *Statement) Claim() string { return s.verdict().Annotations["claim"] }

// Attests reports whether a statement was made of exactly this verdict.
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

// Sign is the envelope of a verdict's statement, one line of a note.
func Sign(ctx context.Context, v loop.Verdict, key ssh.Signer) ([]byte, error) {
	s, err := Of(v)
	if err != nil {
		return nil, err
	}
	payload, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	signer, err := dsse.NewEnvelopeSigner(signer{key})
	if err != nil {
		return nil, err
	}
	envelope, err := signer.SignPayload(ctx, payloadType, payload)
	if err != nil {
		return nil, err
	}
	line, err := json.Marshal(envelope)
	if err == nil && len(line) > MaxEnvelope {
		err = fmt.Errorf("the attestation of the verdict on %.12s has %d bytes, more than %d", v.Commit, len(line), MaxEnvelope)
	}
	return line, err
}

// Verify reads an envelope, one line of a note. Its error says why the statement in it is
// not one that one of the keys signed.
func Verify(ctx context.Context, line []byte, keys []ssh.PublicKey) (*Statement, error) {
	if len(line) > MaxEnvelope {
		return nil, fmt.Errorf("an envelope of more than %d bytes", MaxEnvelope)
	}
	var envelope dsse.Envelope
	if err := json.Unmarshal(line, &envelope); err != nil {
		return nil, fmt.Errorf("no envelope: %w", err)
	}
	if envelope.PayloadType != payloadType {
		return nil, fmt.Errorf("the payload is %.60q, and not %s", envelope.PayloadType, payloadType)
	}
	var verifiers []dsse.Verifier
	for _, key := range keys {
		verifiers = append(verifiers, verifier{key})
	}
	if len(verifiers) == 0 {
		return nil, errors.New("no key is known to verify it with")
	}
	all, err := dsse.NewEnvelopeVerifier(verifiers...)
	if err != nil {
		return nil, err
	}
	if _, err := all.Verify(ctx, &envelope); err != nil {
		return nil, errors.New("no known key signed it")
	}
	payload, err := base64.StdEncoding.DecodeString(envelope.Payload)
	if err != nil {
		return nil, err
	}
	var s Statement
	if err := json.Unmarshal(payload, &s); err != nil {
		return nil, fmt.Errorf("no statement: %w", err)
	}
	if s.Type != statementType || s.PredicateType != predicateType {
		return nil, fmt.Errorf("it is %.60q of %.60q, and no test result", s.PredicateType, s.Type)
	}
	return &s, nil
}
