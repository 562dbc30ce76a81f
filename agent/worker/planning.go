package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"git-ward/agent/activity"
	"git-ward/agent/model"
	"git-ward/agent/stop"
	"git-ward/internal/diag"
	"git-ward/protocols/fsm"
	"git-ward/protocols/plan"
)

// asks says what a plan is for.
func (o *orchestrator) asks() string {
	return fmt.Sprintf("# Your plan\n\nLook around with the tools, then write your plan to %s and end your turn. It is linted (`git ward plan lint`), and then executed step by step: "+
		"only the plan counts, whatever else you change now is thrown away. It ends with `run_in_bash_session git ward task close --task-id %s`, and submit.\n"+
		"Run the commands of the directive's criteria before that, as they are written there, each in a step of its own: they are the tests.\n"+
		"For what nobody here knows, write a research plan (# FSM: research) to %s instead: it is executed, and you are asked again.\n",
		o.talk.Plan, o.directive.Name(), researchPath(o.directive.Name()))
}

// plan gets a plan that the lint has nothing against, committed: the one that a
// run before has left, or one of the model's, whose findings go back to it a
// bounded number of times. A plan that fails lint halts the process (002).
func (o *orchestrator) plan(ctx context.Context, event model.Event, why string) (commit string, err error) {
	path := o.talk.Plan
	from, err := o.work.Head(ctx)
	if err != nil {
		return "", err
	}
	if event == "" {
		if commit, err := o.work.Planned(ctx, path); err != nil || commit != "" {
			if commit != "" {
				o.log.Info().Str("commit", diag.Short(commit)).Msg("the plan is there; it goes on")
			}
			return commit, errors.Join(err, o.planned())
		}
	} else {
		if event == model.Refused {
			why = fmt.Sprintf("The push of %s was refused:\n\n%s\nWhat the server does not have is undone. Plan all of it anew in %s, without what was refused.",
				o.work.Branch, why, path)
		}
		o.tell(event, why)
	}
	for tries := 0; ; tries++ {
		findings, commit, err := o.draft(ctx, from, path, event == model.Failed)
		if err != nil {
			return "", o.fail(err)
		}
		if findings == "" && commit != "" {
			return commit, o.planned()
		}
		if commit == "" && findings == "" { // research is done
			if from, err = o.work.Head(ctx); err != nil {
				return "", err
			}
			continue
		}
		o.log.Warn().Int("tries", tries+1).Str("findings", findings).Msg("the plan cannot be executed")
		if tries == o.Config.Agent.Refusals {
			none := stop.New(stop.Blocked, "There was no plan to execute after %d tries. The last findings:\n\n%s", tries+1, indent(findings))
			return "", errors.Join(o.fail(none), o.discard(ctx, from)) // with it nothing could be pushed
		}
		o.tell(model.Findings, notExecuted(findings, path))
	}
}

// notExecuted is what the model is told of a plan with findings.
func notExecuted(findings, path string) string {
	return "The plan is not executed:\n\n" + findings + "\nMend " + path + " and end your turn."
}

// draft lets the model write a plan and lints it. No findings and no commit mean
// that it was research, which is done. A plan that failed and is left as it is goes
// on at the step that failed.
func (o *orchestrator) draft(ctx context.Context, from, path string, failed bool) (findings, commit string, err error) {
	before, _ := o.tree.Read(path, plan.MaxBytes)
	if _, err := o.turns(ctx); err != nil {
		return "", "", err
	}
	data, err := o.tree.Read(path, plan.MaxBytes)
	if failed && err == nil && bytes.Equal(before, data) {
		if commit, err := o.work.Planned(ctx, path); err != nil || commit != "" {
			return "", commit, errors.Join(err, o.discard(ctx, from))
		}
	}
	research := researchPath(o.directive.Name())
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a folder, a link, too large
		return err.Error() + "\n", "", o.discard(ctx, from)
	}
	if err != nil {
		if data, err := o.tree.Read(research, plan.MaxBytes); err == nil {
			return o.research(ctx, from, research, data)
		}
		if err := o.discard(ctx, from); err != nil {
			return "", "", err
		}
		return path + ": there is no plan at this path\n", "", nil
	}
	if commit, err = o.work.CommitPlan(ctx, from, path, data); err != nil {
		return "", "", err
	}
	findings, err = o.lint(ctx, path)
	return findings, commit, err
}

// discard makes the tree that of a commit again.
func (o *orchestrator) discard(ctx context.Context, to string) error {
	return o.work.ResetTo(ctx, to)
}

// lint is the critic: its findings as text, and CRITIC_FEEDBACK in the log.
func (o *orchestrator) lint(ctx context.Context, path string) (string, error) {
	found, analysis, err := o.runner("").Lint(ctx, path)
	if err != nil {
		return "", err
	}
	if p, _ := o.runner("").Plan(ctx, path); p != nil {
		if id := p.Task(); id != "" && id != o.directive.Name() && p.Machine() == fsm.FDC {
			found = append(found, diag.Diagnostic{Pos: diag.Pos{Path: path}, Rule: "plan/task", Severity: diag.Error,
				Message: fmt.Sprintf("the plan closes %s, and is for %s", id, o.directive.Name()), Hint: "close the directive that it is for"})
		}
	}
	var b strings.Builder
	diag.WriteText(&b, found)
	e := activity.Entry{Phase: "PLANNING", Task: activity.Task{ID: o.directive.Name()},
		Action: activity.Action{Type: activity.CriticFeedback, Details: map[string]any{"plan": path, "findings": len(found),
			"complexity": string(analysis.Complexity), "modality": string(analysis.Modality), "steps": analysis.Steps}},
		Outcome: activity.Outcome{Status: activity.Success, Message: "no findings"}, Evidence: []string{path}}
	if len(found) > 0 {
		e.Outcome.Message = b.String()
	}
	if !diag.HasErrors(found) {
		b.Reset()
	}
	return b.String(), o.activity.Append(e)
}

// research runs a research plan as a cycle of its own (PLAN-8), and asks the model
// again.
func (o *orchestrator) research(ctx context.Context, from, path string, data []byte) (findings, commit string, err error) {
	if o.state == stateDebugging {
		if err := o.replan(ctx, errors.New("the tests fail for a reason that wants research")); err != nil {
			return "", "", err
		}
	}
	if err := o.fire("research_requested", nil); err != nil {
		return "", "", err
	}
	commit, err = o.work.CommitPlan(ctx, from, path, data)
	if err == nil {
		findings, err = o.lint(ctx, path)
	}
	if err == nil && findings == "" {
		err = o.fire("research_started", nil)
	}
	if err != nil {
		return "", "", err
	}
	outputs := ""
	if findings == "" {
		r := o.runner(commit)
		r.Output = func(step, text string) { outputs += step + ":\n" + indent(excerptLines(text)) + "\n" }
		_, err := r.Run(ctx, path)
		if failed := stop.As(err, stop.StepFailed); failed != nil {
			findings = failed.Error() + "\n"
		} else if err != nil {
			return "", "", err
		}
	}
	if findings != "" {
		return findings, "", errors.Join(o.replan(ctx, errors.New(findings)), o.work.Restart(ctx))
	}
	if err := o.fire("result_ready", nil); err != nil {
		return "", "", err
	}
	o.tell("", "The research is done. What its steps gave:\n\n"+outputs+"\n"+o.asks())
	return "", "", nil
}
