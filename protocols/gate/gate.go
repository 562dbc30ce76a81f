// Package gate is what the gate says of a push as JSON (HOOK-2): the form that the hook
// writes, and the one reader of it in what git prints.
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

// Answer is a judgement as JSON: what -o ward.format=json and `git ward lint
// --json` print on one line.
type Answer struct {
	Verdict   string            `json:"verdict"` // Admitted or Refused
	Principal string            `json:"principal"`
	Push      string            `json:"push,omitempty"`
	Count     int               `json:"count"`    // all findings
	Findings  []diag.Diagnostic `json:"findings"` // the first diag.MaxListed
	Hint      string            `json:"hint,omitempty"`
}

// Rules are the rules of the findings, each once, fit to be printed.
func (a Answer) Rules() []string {
	rules := []string{}
	for _, d := range a.Findings {
		if rule := diag.Clean(d.Rule); !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	return rules
}

// Read finds the answer in what git printed of a push, where a line of the remote's begins
// with "remote:". It is nil where the remote gave none: then said has the remote's lines, fit
// to be printed, as another hook wrote them. A verdict that is neither Admitted nor Refused is
// a host's that could not judge.
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
