package loop

import (
	"fmt"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/uow"
)

// Overview describes a unit for `git ward status`: its state, what it waits for, its directive's
// remaining budget, the residual's history, and the host's last verdict.
func Overview(last *uow.Record, verdicts []Verdict, waits uow.Waiting) string {
	var b strings.Builder
	left := last.Budget.Left()
	fmt.Fprintf(&b, "%s\n  left: %s, %s, %s\n", last.Line(waits), diag.Count(left.Iterations, "iteration"), diag.Count(left.Claims, "claim"), diag.Count(left.Pushes, "push"))
	if len(verdicts) == 0 {
		return b.String()
	}
	b.WriteString("  residual by iteration\n")
	for line := range strings.Lines(Plot(History(verdicts), 30, 5)) {
		b.WriteString("  " + line)
	}
	v := verdicts[len(verdicts)-1]
	fmt.Fprintf(&b, "  last verdict: %s on %.12s: %s\n", VerdictWords(v.Verdict), v.Commit, v.Reason)
	return b.String()
}
