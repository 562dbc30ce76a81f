package receive

import (
	"fmt"
	"slices"

	"git-ward/hooks/audit"
	"git-ward/hooks/checks"
	"git-ward/hooks/push"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/protocols/gate"
)

// write tells the pusher what was found. Git sends it as `remote: ` lines and
// colours those that start with error:, warning: or hint:.
func (s *session) write(result *checks.Result, r *audit.Record, options []string) error {
	if slices.Contains(options, gate.AsJSON) {
		return diag.WriteJSON(s.call.Stdout, checks.NewAnswer(result, push.Principal(r.Principal), r.Push))
	}
	if len(result.Findings) == 0 {
		return nil
	}
	errorCount := 0
	for _, d := range result.Findings {
		if d.IsError() {
			errorCount++
		}
	}
	if errorCount > 0 {
		fmt.Fprintf(s.call.Stdout, "error: push refused, nothing was changed: %s\n", diag.Count(len(result.Findings), "finding"))
	} else {
		fmt.Fprintf(s.call.Stdout, "warning: %s\n", diag.Count(len(result.Findings), "finding"))
	}
	if len(result.Would) > 0 {
		fmt.Fprintf(s.call.Stdout, "warning: the push enters because [hooks] mode is %q: %d of them would have refused it\n", config.Observe, len(result.Would))
	}
	result.WriteText(s.call.Stdout)
	return nil
}
