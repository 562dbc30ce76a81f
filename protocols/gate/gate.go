// Package gate is the gate's answer to a push as JSON (HOOK-2): the format that the hook
// writes, and its one reader, which finds it in git's output.
package gate

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"git-ward/internal/diag"
)

// The push option by which a pusher asks for JSON: git push -o ward.format=json.
const (
	Option = "ward.format" // text (default) or json
	AsJSON = Option + "=json"
)

// The verdicts on a push.
const (
	Admitted = "admitted"
	Refused  = "refused"
)

// Answer is a verdict on a push as JSON, which -o ward.format=json and `git ward lint --json`
// print on one line.
type Answer struct {
	Verdict   string            `json:"verdict"` // Admitted or Refused
	Principal string            `json:"principal"`
	Push      string            `json:"push,omitempty"`
	Count     int               `json:"count"`    // all findings
	Findings  []diag.Diagnostic `json:"findings"` // the first diag.MaxListed
	Hint      string            `json:"hint,omitempty"`
}

// Rules lists the rules of the findings, each once and cleaned for printing.
func (a Answer) Rules() []string {
	rules := []string{}
	for _, d := range a.Findings {
		if rule := diag.Clean(d.Rule); !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	return rules
}

// Read finds the answer in git's output of a push, on lines that begin with "remote:". It is
// nil if the remote gave none; said then has the remote's lines, cleaned for printing, as
// another hook wrote them. A verdict other than Admitted and Refused means that the host could
// not judge.
func Read(printed string) (a *Answer, said []string) {
	for line := range strings.Lines(printed) {
		text, ok := strings.CutPrefix(line, "remote:")
		if text = strings.TrimSpace(text); !ok || text == "" {
			continue
		}
		var answer Answer
		if strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &answer) == nil && answer.Verdict != "" {
			return &answer, nil
		}
		said = append(said, diag.Clean(text))
	}
	return nil, said
}
