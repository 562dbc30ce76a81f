package orchestrator

import (
	"bytes"
	"context"
	"errors"
	"io/fs"

	"github.com/rs/zerolog"

	"git-ward/agent/model"
	"git-ward/agent/planrun"
	"git-ward/agent/session"
	"git-ward/agent/stop"
	"git-ward/agent/store"
	"git-ward/internal/diag"
	"git-ward/internal/worktree"
	"git-ward/protocols/plan"
)

// planner gets a plan that the lint has nothing against, committed.
type planner struct {
	directive string
	path      string                   // of the plan, on the record
	paper     func(path string) string // where it lies in the working tree
	work      *store.Work
	tree      *worktree.Tree
	session   *session.Session
	states    *lifecycle
	critic    *critic
	runner    func(since string) *planrun.Runner // for research
	reorient  func(context.Context) error
	refusals  int // how often findings go back to the model
	log       zerolog.Logger
}

// plan returns the commit of the plan that a run before has left, or of one of the
// model's, whose findings go back to it a bounded number of times. A plan that fails
// lint halts the process (002).
func (p *planner) plan(ctx context.Context, r request) (commit string, err error) {
	from, err := p.work.Stand(ctx)
	if err != nil {
		return "", err
	}
	switch r.event {
	case "":
		commit, err := p.work.Planned(ctx, p.path)
		if commit == "" && err == nil {
			break // the model is asked for the first one already
		}
		if commit != "" {
			p.log.Info().Str("commit", diag.Short(commit)).Msg("the plan is there; it goes on")
		}
		return commit, errors.Join(err, p.states.planned())
	case model.Refused:
		p.session.Tell(r.event, tellPushRefused(p.work.Branch, r.text, p.paper(p.path)))
	default:
		p.session.Tell(r.event, r.text)
	}
	for tries := 0; ; tries++ {
		d, err := p.draft(ctx, from, r.event == model.Failed)
		switch {
		case err != nil:
			return "", p.states.fail(err)
		case d.researched:
			if from, err = p.work.Stand(ctx); err != nil {
				return "", err
			}
			continue
		case d.findings == "":
			return d.commit, p.states.planned()
		}
		p.log.Warn().Int("tries", tries+1).Str("findings", d.findings).Msg("the plan cannot be executed")
		if tries == p.refusals {
			none := stop.New(stop.Blocked, "There was no plan to execute after %d tries. The last findings:\n\n%s", tries+1, diag.Indent(d.findings))
			return "", errors.Join(p.states.fail(none), p.work.Restore(ctx, from)) // with it nothing could be pushed
		}
		p.session.Tell(model.Findings, tellFindings(d.findings, p.paper(p.path)))
	}
}

// draft is what the model wrote.
type draft struct {
	findings   string // against it, "" for none
	commit     string // of the plan, where there is one
	researched bool   // it was research, which is done: the model is asked again
}

// draft lets the model write a plan and lints it. A plan that failed and is left as
// it is goes on at the step that failed.
func (p *planner) draft(ctx context.Context, from string, failed bool) (draft, error) {
	before, _ := p.read(ctx, p.path)
	if _, err := p.session.Run(ctx); err != nil {
		return draft{}, err
	}
	data, err := p.read(ctx, p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return p.without(ctx, from)
	}
	if err != nil { // a directory, a link, too large
		return draft{findings: err.Error() + "\n"}, p.work.Restore(ctx, from)
	}
	if failed && bytes.Equal(before, data) {
		if commit, err := p.work.Planned(ctx, p.path); err != nil || commit != "" {
			return draft{commit: commit}, errors.Join(err, p.work.Restore(ctx, from))
		}
	}
	return p.commit(ctx, from, p.path, data)
}

// read reads a plan as the model wrote it. One that it wrote to where the record has it,
// and not to where the working tree does, counts as well.
func (p *planner) read(ctx context.Context, path string) ([]byte, error) {
	data, err := p.tree.Read(path, plan.MaxBytes)
	if paper := p.paper(path); paper != path && (errors.Is(err, fs.ErrNotExist) || p.isWork(ctx, path)) {
		return p.tree.Read(paper, plan.MaxBytes)
	}
	return data, err
}

// isWork reports whether a file is one of the project's own.
func (p *planner) isWork(ctx context.Context, path string) bool {
	names, err := p.tree.Git(ctx, "ls-files", "--cached", "--", ":(top,literal)"+path)
	return err == nil && names != ""
}

// commit commits a plan on top of a commit, and lints it there.
func (p *planner) commit(ctx context.Context, from, path string, data []byte) (d draft, err error) {
	if d.commit, err = p.work.CommitPlan(ctx, from, path, data); err != nil {
		return d, err
	}
	d.findings, err = p.critic.lint(ctx, path)
	return d, err
}

// without is a draft where there is no plan: research, or nothing.
func (p *planner) without(ctx context.Context, from string) (draft, error) {
	path := researchPath(p.directive)
	data, err := p.read(ctx, path)
	if err == nil {
		return p.research(ctx, from, path, data)
	}
	return draft{findings: p.paper(p.path) + ": there is no plan at this path\n"}, p.work.Restore(ctx, from)
}

// research runs a research plan as a cycle of its own (PLAN-8), and asks the model
// again.
func (p *planner) research(ctx context.Context, from, path string, data []byte) (draft, error) {
	if p.states.state == stateDebugging {
		if err := p.replan(ctx, errors.New("the tests fail for a reason that wants research")); err != nil {
			return draft{}, err
		}
	}
	if err := p.states.fire("research_requested", nil); err != nil {
		return draft{}, err
	}
	d, err := p.commit(ctx, from, path, data)
	if err != nil {
		return draft{}, err
	}
	outputs := ""
	if d.findings == "" {
		if outputs, d.findings, err = p.runResearch(ctx, path, d.commit); err != nil {
			return draft{}, err
		}
	}
	if d.findings != "" {
		return draft{findings: d.findings}, errors.Join(p.replan(ctx, errors.New(d.findings)), p.work.Restart(ctx))
	}
	if err := p.states.fire("result_ready", nil); err != nil {
		return draft{}, err
	}
	p.session.Tell("", tellResearch(outputs, askForPlan(p.directive, p.paper(p.path), p.paper(researchPath(p.directive)))))
	return draft{researched: true}, nil
}

// runResearch executes a research plan. A step that fails is a finding.
func (p *planner) runResearch(ctx context.Context, path, commit string) (outputs, findings string, err error) {
	if err := p.states.fire("research_started", nil); err != nil {
		return "", "", err
	}
	runner := p.runner(commit)
	runner.Output = func(step, text string) { outputs += stepOutput(step, text) + "\n" }
	_, err = runner.Run(ctx, path)
	if failed := stop.As(err, stop.StepFailed); failed != nil {
		return outputs, failed.Error() + "\n", nil
	}
	return outputs, "", err
}

// replan comes back to PLANNING from a state that has no other way to it than by
// ERROR.
func (p *planner) replan(ctx context.Context, why error) error {
	if err := p.states.fire(p.states.toError(), why); err != nil {
		return err
	}
	if err := p.states.fire("reorient", nil); err != nil {
		return err
	}
	return p.reorient(ctx)
}
