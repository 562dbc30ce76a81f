package export

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"

	"git-ward/internal/diag"
)

// maxResults bounds the results of one run: a reader of SARIF takes no more (25,000 is what
// the largest forge takes). What is left out is said.
const maxResults = 25_000

// The parts of SARIF 2.1.0 that Ward writes, by the standard's names.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver sarifDriver `json:"driver"`
		} `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
	}
	sarifDriver struct {
		Name     string      `json:"name"`
		FullName string      `json:"fullName"`
		Version  string      `json:"version,omitempty"`
		Rules    []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID    string     `json:"id"`
		Short *sarifText `json:"shortDescription,omitempty"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations,omitempty"`
		Fingerprints map[string]string `json:"partialFingerprints"`
		Properties   map[string]any    `json:"properties,omitempty"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact struct {
			URI  string `json:"uri"`
			Base string `json:"uriBaseId"`
		} `json:"artifactLocation"`
		Region *sarifRegion `json:"region,omitempty"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		FullName string `json:"fullyQualifiedName"`
		Kind     string `json:"kind"`
	}
)

func (r *Report) sarif() sarifLog {
	run := sarifRun{Results: []sarifResult{}, Invocations: []sarifInvocation{{Successful: true}}}
	run.Tool.Driver = sarifDriver{Name: "git-ward", FullName: r.Name, Version: r.Version, Rules: []sarifRule{}}
	if more := len(r.Findings) - maxResults; more > 0 {
		run.Invocations[0].Notifications = []sarifNotification{{"warning", sarifText{fmt.Sprintf("%d more findings are left out here", more)}}}
	}
	rules := map[string]int{}
	for _, d := range r.Findings[:min(len(r.Findings), maxResults)] {
		i, known := rules[d.Rule]
		if !known {
			i = len(run.Tool.Driver.Rules)
			rules[d.Rule], run.Tool.Driver.Rules = i, append(run.Tool.Driver.Rules, r.rule(d.Rule))
		}
		run.Results = append(run.Results, result(d, i))
	}
	// The address is the standard's name for the schema; nothing fetches it.
	return sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}
}

func (r *Report) rule(id string) sarifRule {
	rule := sarifRule{ID: diag.Clean(id)}
	if r.Docs != nil {
		if doc := r.Docs(id); doc != "" {
			rule.Short = &sarifText{doc}
		}
	}
	return rule
}

func result(d diag.Diagnostic, rule int) sarifResult {
	message := diag.Clean(d.Message)
	if d.Hint != "" { // viewers show the message and no property
		message += "\nhint: " + diag.Clean(d.Hint)
	}
	level := "error"
	if !d.IsError() {
		level = "warning"
	}
	res := sarifResult{RuleID: diag.Clean(d.Rule), RuleIndex: rule, Level: level, Message: sarifText{message},
		Fingerprints: map[string]string{"gitWard/v1": fingerprint(d)}, Properties: map[string]any{}}
	if d.Commit != "" {
		res.Properties["commit"] = diag.Clean(d.Commit)
	}
	if d.Col > 0 { // SARIF counts characters, and Ward bytes, which only who has the line can turn into them
		res.Properties["columnInBytes"] = d.Col
	}
	if l := location(d); l.Physical != nil || l.Logical != nil {
		res.Locations = []sarifLocation{l}
	}
	return res
}

func location(d diag.Diagnostic) (l sarifLocation) {
	if d.Path != "" {
		l.Physical = &sarifPhysical{}
		// Bytes that are no text, a space, a colon in front: all of a name is kept by its escapes.
		l.Physical.Artifact.URI = (&url.URL{Path: strings.TrimLeft(d.Path, "/")}).String()
		l.Physical.Artifact.Base = "%SRCROOT%"
		if d.Line > 0 {
			l.Physical.Region = &sarifRegion{d.Line}
		}
	}
	if d.Ref != "" {
		l.Logical = []sarifLogical{{diag.Clean(d.Ref), "ref"}}
	}
	return l
}

// fingerprint tells a finding from others over time: not by its line or commit, which move.
func fingerprint(d diag.Diagnostic) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{d.Rule, d.Path, d.Ref, d.Message}, "\x00")))
	return hex.EncodeToString(sum[:16])
}
