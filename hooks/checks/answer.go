package checks

import (
	"fmt"
	"io"

	"git-ward/hooks/push"
	"git-ward/internal/diag"
	"git-ward/protocols/gate"
)

// inCommitsHint goes with findings that must be fixed in the commit itself: most people try a
// new commit on top first.
const inCommitsHint = "each commit is judged: mend the commit itself (git commit --amend; an older one: git rebase -i), another on top does not help"

// WriteText renders the findings for a person, as diag does, and says how to proceed.
func (r *Result) WriteText(w io.Writer) {
	diag.WriteText(w, r.Findings)
	if r.InCommits {
		fmt.Fprintf(w, "hint: %s\n", inCommitsHint)
	}
}

// NewAnswer makes the answer for a result and a push id, "" outside a push.
func NewAnswer(r *Result, p push.Principal, push string) gate.Answer {
	a := gate.Answer{Verdict: gate.Admitted, Principal: string(p), Push: push, Count: len(r.Findings), Findings: []diag.Diagnostic{}}
	if r.Refused() {
		a.Verdict = gate.Refused
	}
	a.Findings = append(a.Findings, r.Findings[:min(len(r.Findings), diag.MaxListed)]...)
	if r.InCommits {
		a.Hint = inCommitsHint
	}
	return a
}
