package orchestrator

import (
	"context"
	"fmt"
	"strings"

	"git-ward/agent/activity"
	"git-ward/agent/planrun"
	"git-ward/internal/diag"
	"git-ward/protocols/fsm"
)

// critic lints plans, and leaves a CRITIC_FEEDBACK in the activity log.
type critic struct {
	directive string
	runner    *planrun.Runner
	activity  *activity.Log
}

// lint is what stands against the plan at a path of HEAD, as text; "" where it may
// be executed.
func (c *critic) lint(ctx context.Context, path string) (string, error) {
	found, analysis, err := c.runner.Lint(ctx, path)
	if err != nil {
		return "", err
	}
	if p, _ := c.runner.Plan(ctx, path); p != nil {
		if id := p.Task(); id != "" && id != c.directive && p.Machine() == fsm.FDC {
			found = append(found, diag.Diagnostic{Pos: diag.Pos{Path: path}, Rule: "plan/task", Severity: diag.Error,
				Message: fmt.Sprintf("the plan closes %s, and is for %s", id, c.directive), Hint: "close the directive that it is for"})
		}
	}
	var text strings.Builder
	diag.WriteText(&text, found)
	message := "no findings"
	if len(found) > 0 {
		message = text.String()
	}
	err = c.activity.Append(activity.Entry{Phase: "PLANNING", Task: activity.Task{ID: c.directive},
		Action: activity.Action{Type: activity.CriticFeedback, Details: map[string]any{"plan": path, "findings": len(found),
			"complexity": string(analysis.Complexity), "modality": string(analysis.Modality), "steps": analysis.Steps}},
		Outcome: activity.Outcome{Status: activity.Success, Message: message}, Evidence: []string{path}})
	if !diag.HasErrors(found) {
		return "", err
	}
	return text.String(), err
}
