package orchestrator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rs/zerolog"

	"git-ward/agent/draft"
	"git-ward/agent/interaction"
	"git-ward/agent/model"
	"git-ward/agent/session"
	"git-ward/agent/stop"
	"git-ward/agent/store"
	"git-ward/internal/diag"
	"git-ward/internal/worktree"
	"git-ward/protocols/fsm"
	"git-ward/protocols/plan"
)

// planner gets a committed plan that passes the lint.
type planner struct {
	run        *run
	directive  string
	work       *store.Work
	tree       *worktree.Tree
	session    *session.Session
	states     *lifecycle
	critic     *critic
	researches int // how often research was requested
	refusals   int // how often findings go back to the model
	log        zerolog.Logger
}

// plan returns the commit of an earlier run's plan, or of one by the model, which gets
// findings back a bounded number of times. A plan that fails lint halts the process (002).
func (p *planner) plan(ctx context.Context, r request) (commit string, err error) {
	from, err := p.work.PlanHead(ctx)
	if err != nil {
		return "", err
	}
	switch r.event {
	case "":
		commit, err := p.work.Planned(ctx, p.run.path)
		if commit == "" && err == nil {
			if from, err = p.takeUpResearch(ctx, from); err != nil {
				return "", p.states.fail(err)
			}
			break // the model was asked for the first one already
		}
		if commit != "" {
			p.log.Info().Str("commit", diag.Short(commit)).Msg("the plan is there; it goes on")
		}
		return commit, errors.Join(err, p.states.planned())
	case model.Refused:
		p.session.Tell(r.event, tellPushRefused(p.work.Branch, r.text, p.run.planPaper()))
	default:
		p.session.Tell(r.event, r.text)
	}
	for tries := 0; ; tries++ {
		d, err := p.attempt(ctx, from, r.event == model.Failed)
		switch {
		case err != nil:
			return "", p.states.fail(err)
		case d.researched:
			if from, err = p.work.PlanHead(ctx); err != nil {
				return "", err
			}
			continue
		case d.findings == "":
			return d.commit, p.states.planned()
		}
		p.log.Warn().Int("tries", tries+1).Str("findings", d.findings).Msg("the plan cannot be executed")
		if tries == p.refusals {
			return "", errors.Join(p.states.fail(p.none(tries+1, d)), p.work.Restore(ctx, d.from))
		}
		from = d.from
		p.session.Tell(model.Findings, tellFindings(d.findings, p.run.planPaper()))
	}
}

// none is the end after too many attempts. The model's text and changes are kept.
func (p *planner) none(tries int, d attempt) *stop.Stop {
	none := stop.New(stop.Blocked, "There was no plan to execute after %d tries. The last findings:\n\n%s", tries, diag.Indent(d.findings))
	if said := p.session.Said(); said != "" {
		none.Output = "The model's last words:\n\n" + diag.Indent(diag.CleanLines(diag.Cut(said, 4<<10)))
	}
	return none
}

// attempt is the result of one attempt.
type attempt struct {
	findings   string // against it, "" for none
	commit     string // the plan's commit, if there is one
	from       string // the commit of the work that it is for, including what was changed before it
	researched bool   // it was research, which is done: ask the model again
}

// attempt lets the model write a plan, and lints it. Other changes of the model are kept, and
// the plan starts from them (PLAN-9).
func (p *planner) attempt(ctx context.Context, from string, failed bool) (attempt, error) {
	before, _ := p.read(ctx, p.run.path)
	if err := p.run.takesTurns(ctx, from); err != nil {
		return attempt{}, err
	}
	data, err := p.read(ctx, p.run.path)
	if p.run.question != "" { // the present state is kept in the tree
		return attempt{}, stop.New(stop.Asked, "%s", p.run.question)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p.without(ctx, from)
	case err != nil: // a directory, a link, too large
		return attempt{findings: err.Error() + "\n", from: from}, p.work.Restore(ctx, from)
	case failed && bytes.Equal(before, data):
		return p.goOn(ctx, from, data)
	}
	return p.commit(ctx, from, p.run.path, unwrapped(data))
}

// unwrapped is the plan in the file that was written.
func unwrapped(data []byte) []byte {
	if found, ok := draft.Find(string(data)); ok {
		return found
	}
	return data
}

// goOn continues a failed and unchanged plan at the step that failed, on top of the model's
// changes.
func (p *planner) goOn(ctx context.Context, from string, data []byte) (attempt, error) {
	commit, err := p.work.Planned(ctx, p.run.path)
	if err != nil || commit == "" {
		return p.commit(ctx, from, p.run.path, unwrapped(data))
	}
	kept, changes, err := p.work.Keep(ctx, from, p.run.head)
	if refused := stop.As(err, stop.Refused); refused != nil {
		return attempt{findings: refused.Output, from: from}, p.work.Restore(ctx, from)
	}
	if err == nil && len(changes) > 0 {
		err = p.work.Amid(ctx, p.run.path, kept)
	}
	return attempt{commit: commit, from: kept}, errors.Join(err, p.work.Restore(ctx, kept))
}

// read reads the plan as the model wrote it, also if it used the record's path instead of the
// working tree's.
func (p *planner) read(ctx context.Context, path string) ([]byte, error) {
	data, err := p.tree.Read(path, plan.MaxBytes)
	if paper := p.run.paper(path); paper != path && (errors.Is(err, fs.ErrNotExist) || p.isWork(ctx, path)) {
		return p.tree.Read(paper, plan.MaxBytes)
	}
	return data, err
}

// isWork reports whether a file belongs to the project.
func (p *planner) isWork(ctx context.Context, path string) bool {
	names, err := p.tree.Git(ctx, "ls-files", "--cached", "--", ":(top,literal)"+path)
	return err == nil && names != ""
}

// commit commits a plan on top of the earlier changes, and lints it there. The changes exclude
// files that the plan itself makes.
func (p *planner) commit(ctx context.Context, from, path string, data []byte) (d attempt, err error) {
	without := []string{p.run.path, researchPath(p.directive)} // another path that a model may use
	if parsed, _ := plan.Parse(data, path); parsed != nil {
		without = append(without, makes(parsed)...)
	}
	kept, changes, err := p.work.Keep(ctx, from, p.run.head, without...)
	if refused := stop.As(err, stop.Refused); refused != nil {
		return attempt{findings: refused.Output, from: from}, p.work.Restore(ctx, from)
	}
	if err != nil {
		return d, err
	}
	if len(changes) > 0 {
		p.log.Info().Strs("changes", changes[:min(len(changes), 20)]).Msg("what was changed before the plan is kept")
	}
	d.from = kept
	if d.commit, err = p.work.CommitPlan(ctx, kept, path, data); err != nil {
		return d, err
	}
	d.findings, err = p.critic.lint(ctx, path, data)
	return d, err
}

// makes are the files that a plan makes.
func makes(p *plan.Plan) (paths []string) {
	for _, s := range p.Steps {
		switch s.Tool {
		case plan.CreateFile:
			paths = append(paths, s.Args)
		case plan.RenameFile:
			if _, name := s.RenameArgs(); name != "" {
				paths = append(paths, name)
			}
		}
	}
	return paths
}

// without handles an attempt without a plan at the expected path: research, a plan in the
// model's text, work without a plan, a question, or nothing.
func (p *planner) without(ctx context.Context, from string) (attempt, error) {
	path := researchPath(p.directive)
	data, err := p.read(ctx, path)
	if err == nil {
		return p.research(ctx, from, path, unwrapped(data))
	}
	said := p.session.Said()
	if data, ok := draft.Find(said); ok {
		if parsed, _ := plan.Parse(data, p.run.path); parsed.Machine() == fsm.Research {
			return p.research(ctx, from, path, data)
		}
		return p.commit(ctx, from, p.run.path, data)
	}
	_, changes, err := p.work.Changed(ctx, from)
	refused := stop.As(err, stop.Refused)
	switch {
	case refused != nil:
		return attempt{findings: refused.Output, from: from}, p.work.Restore(ctx, from)
	case err != nil:
		return attempt{}, err
	case len(changes) > 0:
		p.log.Info().Strs("changes", changes[:min(len(changes), 20)]).Msg("work without a plan: Ward writes one")
		return p.commit(ctx, from, p.run.path, []byte(afterwards(p.run.deps.Directive, said, changes).String()))
	case interaction.Asks(said):
		return attempt{}, stop.New(stop.Asked, "%s", said)
	}
	return attempt{findings: p.run.planPaper() + ": there is no plan at this path, and nothing was changed\n", from: from}, p.work.Restore(ctx, from)
}

// research runs a research plan as its own cycle (PLAN-8), and asks the model again.
func (p *planner) research(ctx context.Context, from, path string, data []byte) (attempt, error) {
	if p.states.state == stateDebugging {
		if err := p.replan(ctx, errors.New("the tests fail for a reason that wants research")); err != nil {
			return attempt{}, err
		}
	}
	if err := p.states.fire("research_requested", nil); err != nil {
		return attempt{}, err
	}
	if p.researches++; p.researches > maxResearches {
		return attempt{findings: fmt.Sprintf("research was done %d times for one plan, which is enough: plan with what is known\n", maxResearches), from: from},
			errors.Join(p.replan(ctx, errors.New("there was research enough")), os.Remove(filepath.Join(p.tree.Dir, p.run.paper(path))))
	}
	d, err := p.commit(ctx, from, path, data)
	if err != nil {
		return attempt{}, err
	}
	outputs := ""
	if d.findings == "" {
		if outputs, d.findings, err = p.runResearch(ctx, path, d.commit); err != nil {
			return attempt{}, err
		}
	}
	if d.findings != "" {
		return attempt{findings: d.findings, from: d.from}, errors.Join(p.replan(ctx, errors.New(d.findings)), p.work.Forget(ctx, d.from))
	}
	if err := p.states.fire("result_ready", nil); err != nil {
		return attempt{}, err
	}
	p.session.Tell("", tellResearch(p.told(outputs), p.run.planPaper()))
	return attempt{researched: true}, nil
}

// replan returns to PLANNING from a state that can reach it only through ERROR.
func (p *planner) replan(ctx context.Context, why error) error {
	if err := p.states.fire(p.states.toError(), why); err != nil {
		return err
	}
	if err := p.states.fire("reorient", nil); err != nil {
		return err
	}
	return p.run.orient(ctx, false)
}
