package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"git-ward/agent/planrun"
	"git-ward/agent/stop"
	"git-ward/internal/diag"
	"git-ward/internal/worktree"
	"git-ward/protocols/record"
)

// Bounds of research (PLAN-8): how often for one plan, how long, of how many steps, and
// bytes that the model is told of it.
const (
	maxResearches    = 3
	maxResearchTime  = 15 * time.Minute
	maxResearchSteps = 200
	maxResearchTold  = 48 << 10
	researchPoll     = time.Second // polling interval of AWAITING_RESULT
)

// errResearchTime and errResearchSteps end research that goes on for too long.
var (
	errResearchTime  = fmt.Errorf("the research ran longer than %s", maxResearchTime)
	errResearchSteps = fmt.Errorf("the research has more than %d steps", maxResearchSteps)
)

// runResearch executes a research plan while planning waits in AWAITING_RESULT. A failed step
// is a finding, and so is a limit that it hits.
func (p *planner) runResearch(ctx context.Context, path, commit string) (outputs, findings string, err error) {
	if err := p.states.fire("research_started", nil); err != nil {
		return "", "", err
	}
	limited, cancel := context.WithTimeoutCause(ctx, maxResearchTime, errResearchTime)
	defer cancel()
	runner, steps := p.run.runner(commit), 0
	runner.Output = func(step, text string) {
		p.session.Transcript.Ran(step, text)
		if len(outputs) < maxResearchTold {
			outputs += stepOutput(step, text) + "\n"
		}
	}
	runner.Next = func(planrun.Next) error {
		if steps++; steps > maxResearchSteps {
			return errResearchSteps
		}
		return nil
	}
	// Only the run uses outputs and the log until it is over.
	over := make(chan error, 1)
	go func() {
		_, err := runner.Run(limited, path)
		over <- err
	}()
	if err = p.await(over); ctx.Err() != nil {
		return "", "", cmp.Or(err, context.Cause(ctx)) // done steps stay on the record
	}
	failed := stop.As(err, stop.StepFailed, stop.Findings)
	switch {
	case failed != nil:
		return outputs, failed.Error() + "\n", nil
	case errors.Is(err, errResearchSteps), err != nil && errors.Is(context.Cause(limited), errResearchTime):
		return outputs, cmp.Or(context.Cause(limited), errResearchSteps).Error() + "; ask for less\n", nil
	}
	return outputs, "", err
}

// await is AWAITING_RESULT: it polls until the run is over.
func (p *planner) await(over <-chan error) error {
	poll := time.NewTicker(researchPoll)
	defer poll.Stop()
	for {
		select {
		case err := <-over:
			return err
		case <-poll.C:
			if err := p.states.fire("wait", nil); err != nil {
				return errors.Join(err, <-over)
			}
		}
	}
}

// takeUpResearch continues research that an earlier run began, and gives its result to the
// model; without any it does nothing. It returns the work to continue.
func (p *planner) takeUpResearch(ctx context.Context, from string) (string, error) {
	path := researchPath(p.directive)
	commit, err := p.work.Planned(ctx, path)
	if err != nil || commit == "" {
		return from, err
	}
	p.log.Info().Str("commit", diag.Short(commit)).Msg("research is under way; it goes on")
	if err := p.states.fire("research_requested", nil); err != nil {
		return from, err
	}
	outputs, findings, err := p.runResearch(ctx, path, commit)
	if err != nil {
		return from, err
	}
	if findings != "" {
		return from, errors.Join(p.replan(ctx, errors.New(findings)), p.work.Forget(ctx, from))
	}
	if err := p.states.fire("result_ready", nil); err != nil {
		return from, err
	}
	p.session.Tell("", tellResearch(p.told(outputs), p.run.planPaper()))
	return p.work.PlanHead(ctx)
}

// told is research's result for the model: its reports first, then the steps' output.
func (p *planner) told(outputs string) string {
	var b strings.Builder
	paths, err := p.tree.Walk(p.run.paper(record.Research), func(path string) bool { return strings.HasSuffix(path, ".md") })
	for _, path := range paths {
		if data, readErr := p.tree.Read(path, maxResearchTold); err == nil && readErr == nil && worktree.InRecord(path) {
			fmt.Fprintf(&b, "%s:\n%s\n", path, diag.Indent(diag.CleanLines(strings.ToValidUTF8(string(data), "?"))))
		}
	}
	return diag.Cut(b.String()+outputs, maxResearchTold)
}
