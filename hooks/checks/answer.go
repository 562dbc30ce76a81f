package checks

import (
	"fmt"
	"io"

	"git-ward/hooks/push"
	"git-ward/internal/diag"
)

// Answer is a judgement as JSON: what -o ward.format=json and `git ward lint
// --json` print on one line.
type Answer struct {
	Verdict   string            `json:"verdict"` // admitted or refused
	Principal push.Principal    `json:"principal"`
	Push      string            `json:"push,omitempty"`
	Count     int               `json:"count"`    // all findings
	Findings  []diag.Diagnostic `json:"findings"` // the first diag.MaxListed
	Hint      string            `json:"hint,omitempty"`
}

// inCommitsHint stands below findings that their own remedies mend only in the
// commit that holds them: most people try a new commit on top first.
const inCommitsHint = "each commit is judged: mend the commit itself (git commit --amend; an older one: git rebase -i), another on top does not help"

// WriteText renders the findings for a person, as diag does, and how to go about
// them.
func (r *Result) WriteText(w io.Writer) {
	diag.WriteText(w, r.Findings)
	if r.InCommits {
		fmt.Fprintf(w, "hint: %s\n", inCommitsHint)
	}
}

// NewAnswer words a result for a push id, "" outside a push.
func NewAnswer(r *Result, p push.Principal, push string) Answer {
	a := Answer{Verdict: "admitted", Principal: p, Push: push, Count: len(r.Findings), Findings: []diag.Diagnostic{}}
	if r.Refused() {
		a.Verdict = "refused"
	}
	a.Findings = append(a.Findings, r.Findings[:min(len(r.Findings), diag.MaxListed)]...)
	if r.InCommits {
		a.Hint = inCommitsHint
	}
	return a
}
