package orchestrator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"git-ward/agent/activity"
	"git-ward/agent/planrun"
	"git-ward/internal/diag"
	"git-ward/protocols/fsm"
	"git-ward/protocols/plan"
)

// critic lints plans and writes a CRITIC_FEEDBACK to the activity log.
type critic struct {
	directive string
	runner    *planrun.Runner
	activity  *activity.Log
	advised   bool // the missing citations were reported: only once, because a plan does not fail for them
	amends    bool // the plan follows a failed step: some of its steps may be done and counted
}

// lint returns the findings on a plan at a path of HEAD as text; "" if it may be executed.
func (c *critic) lint(ctx context.Context, path string, data []byte) (string, error) {
	found, analysis, err := c.runner.Lint(ctx, path)
	if err != nil {
		return "", err
	}
	if c.advised {
		found = plan.Relaxed(found)
	}
	c.advised = c.advised || slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return d.Rule == plan.RuleEvidence || d.Rule == plan.RuleCitation })
	p, _ := c.runner.Plan(ctx, path)
	found = append(append(found, c.task(path, p)...), c.steps(path, p)...)
	text, message := withLines(found, data), "no findings"
	if len(found) > 0 {
		message = text
	}
	err = c.activity.Append(activity.Entry{Phase: "PLANNING", Task: activity.Task{ID: c.directive},
		Action: activity.Action{Type: activity.CriticFeedback, Details: map[string]any{"plan": path, "findings": len(found),
			"complexity": string(analysis.Complexity), "modality": string(analysis.Modality), "steps": analysis.Steps}},
		Outcome: activity.Outcome{Status: activity.Success, Message: message}, Evidence: []string{path}})
	if !diag.HasErrors(found) {
		return "", err
	}
	return text, err
}

// look lints an uncommitted text in a tree of the work, without logging.
func (c *critic) look(ctx context.Context, path string, p *plan.Plan, tree string) (text string, ok bool, err error) {
	found, err := c.runner.LintText(ctx, path, []byte(p.String()), tree)
	found = append(append(plan.Relaxed(found), c.task(path, p)...), c.steps(path, p)...)
	return withLines(found, []byte(p.String())), err == nil && !diag.HasErrors(found), err
}

// task is the finding that a plan closes another task.
func (c *critic) task(path string, p *plan.Plan) []diag.Diagnostic {
	if p == nil || p.Machine() != fsm.FDC || p.Task() == "" || p.Task() == c.directive {
		return nil
	}
	return []diag.Diagnostic{{Pos: diag.Pos{Path: path}, Rule: "plan/task", Severity: diag.Error,
		Message: fmt.Sprintf("the plan closes %s, and is for %s", p.Task(), c.directive), Hint: "close the directive that it is for"}}
}

// steps is the finding that a plan has more steps than the iteration may still use, so that it
// would be cut off. A loop's number of turns is unknown in advance. After a failed step it is
// only advice: a continued plan begins with the done steps, which are not executed again.
func (c *critic) steps(path string, p *plan.Plan) []diag.Diagnostic {
	left, bounded := c.runner.Gate.Left()
	if p == nil || !bounded {
		return nil
	}
	n := 0
	for _, s := range p.Steps {
		if s.Tool != plan.ForEachFile {
			n++
		}
	}
	if n <= left {
		return nil
	}
	severity := diag.Error
	if c.amends {
		severity = diag.Warning
	}
	return []diag.Diagnostic{{Pos: diag.Pos{Path: path}, Rule: "plan/calls", Severity: severity,
		Message: fmt.Sprintf("the plan has %s, and %s of tools are left to this iteration (max_tool_calls_per_iteration)", diag.Count(n, "step"), diag.Count(left, "use")),
		Hint:    "plan less: take steps together, and leave what can wait to the next iteration"}}
}

// withLines is findings as text, each with its line of the plan.
func withLines(found []diag.Diagnostic, data []byte) string {
	lines := strings.Split(string(data), "\n")
	var b strings.Builder
	for _, d := range found {
		diag.WriteText(&b, []diag.Diagnostic{d})
		if at := d.Pos.Line; at > 0 && at <= len(lines) && lines[at-1] != "" {
			fmt.Fprintf(&b, "    %d | %s\n", at, diag.Clean(diag.Cut(lines[at-1], 200)))
		}
	}
	return b.String()
}
