// Package orchestrator leads a model through the work on a directive by the machine of that
// name (002): orientation, a plan that the lint has nothing against, its execution step by
// step, and last words. It continues what a killed run left on the branch.
package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"git-ward/agent/activity"
	"git-ward/agent/interaction"
	"git-ward/agent/model"
	"git-ward/agent/orient"
	"git-ward/agent/planrun"
	"git-ward/agent/prompt"
	"git-ward/agent/session"
	"git-ward/agent/stop"
	"git-ward/agent/store"
	"git-ward/agent/task"
	"git-ward/agent/tool"
	"git-ward/agent/web"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/live"
	"git-ward/internal/worktree"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
	"git-ward/vm"
)

// Orchestrator is what the work on one directive, or on one iteration of it, needs.
type Orchestrator struct {
	Directive comms.Directive
	Prompt    prompt.Prompt // known before orientation: principal, the PM's messages, skills
	Scout     bool          // explore before the work, in a separate conversation
	Work      *store.Work
	Session   *session.Session // with the model; its Talk.Plan is the plan's path
	Box       *tool.Box        // for steps' commands
	Config    *config.Config
	Bare      string // the remote, whose knowledge goes to the model
	Logs      string // the activity log's directory
	Getenv    func(name string) string
	Message   func(ctx context.Context, text string) error // sends a message to the PM, as message_user does
	Redact    func(string) string                          // removes secrets; may be nil
	Live      *interaction.Live                            // gets the work's events; may be nil
	Log       zerolog.Logger
}

// Solve takes the directive from orientation to the model's last words. The refusal
// is why the push of the work before was refused, "" for none; calls are the uses of
// tools. The error is stop.Unfinished, Spent, Blocked or Asked when the work did not come to
// an end of its own.
func (o *Orchestrator) Solve(ctx context.Context, refusal string) (done interaction.Done, err error) {
	if refusal != "" { // of the last push, after the plan
		if err := o.Work.Restart(ctx); err != nil {
			return done, err
		}
	}
	log, err := activity.Open(o.Logs)
	if err != nil {
		return done, err
	}
	log.Redact = o.Redact
	before, steps := o.Session.Tally, o.Session.Gate.Calls()
	o.Live.Begins(string(loop.Solver))
	o.Session.Transcript = &interaction.Transcript{Redact: o.Redact, Live: o.Live}
	r := &run{
		began: time.Now(),
		deps:  o, activity: log, path: strings.TrimPrefix(o.Session.Talk.Plan, worktree.RecordDir+"/"),
		states: newLifecycle(o.Directive, log, o.Log),
		tree:   &worktree.Tree{Dir: o.Work.Dir(), Env: o.Box.Env},
	}
	if r.control, err = r.tree.Documents(ctx); err != nil {
		return done, err
	}
	if r.start, err = o.Work.Head(ctx); err != nil {
		return done, err
	}
	o.Session.Talk.Plan = r.planPaper()
	o.Session.Talk.Tools = append(o.Box.Tools(), r.tools()...)
	done.Words, err = r.solve(ctx, refusal)
	if err != nil {
		r.endsEarly(ctx, err)
	}
	done.Tally, done.Transcript = o.Session.Tally.Since(before), o.Session.Transcript.Text()
	if o.Session.Gate != nil { // also checks the steps of plans
		done.Tally.Calls = o.Session.Gate.Calls() - steps
	}
	return done, err
}

// Told is what the model was told beyond SYSTEM.md and COMMS.md: the capsule is among
// its messages.
func (o *Orchestrator) Told(string) (string, error) { return o.Session.Told(), nil }

// run is one call of Solve.
type run struct {
	deps     *Orchestrator
	states   *lifecycle
	activity *activity.Log
	tree     *worktree.Tree
	path     string // path on the record
	results  string // output of the plan's last steps
	control  string // the ref with the registry
	question string // that the model asked the PM, "" for none
	began    time.Time
	start    string // the commit where the branch began
	head     string // the branch's commit before the model's turns
	from     string // the work's commit where they began
	amends   bool   // the plan follows a failed step
}

// paper is where a file of the record lies in the working tree.
func (r *run) paper(path string) string {
	return worktree.RecordDir + "/" + path
}

// planPaper is where the model writes the plan.
func (r *run) planPaper() string { return r.paper(r.path) }

// solve plans and executes until all steps of a plan are done. A failed plan is followed by
// another, a bounded number of times.
func (r *run) solve(ctx context.Context, refusal string) (words string, err error) {
	next := request{text: refusal}
	if refusal != "" {
		next.event = model.Refused
	}
	if err := r.states.fire("begin_task", nil); err != nil {
		return "", err
	}
	var failed *stop.Stop // the last step that failed
	for tries := 0; ; tries++ {
		if r.states.state != stateDebugging {
			if err := r.orient(ctx, tries == 0 && refusal == ""); err != nil {
				return "", err
			}
		}
		r.amends = next.event == model.Failed
		commit, err := r.planner().plan(ctx, next)
		if stop.Is(err, stop.Blocked) && failed != nil {
			return "", r.gaveUp(failed, tries) // so there is no other plan
		}
		if stop.Is(err, stop.Blocked) && refusal != "" {
			return "", r.deps.Work.NotPushed(1, refusal)
		}
		if err != nil {
			return "", err
		}
		err = r.execute(ctx, commit)
		if err == nil {
			return r.finalize(ctx)
		}
		if next, err = r.recover(ctx, err, tries); err != nil {
			return "", err
		}
		if next.failed != nil {
			failed = next.failed
		}
	}
}

// request is the reason for asking the model for another plan. The zero value asks for the
// first one, or continues the existing one.
type request struct {
	event  model.Event
	text   string     // findings, or the failure
	failed *stop.Stop // the failed step, nil for none
}

// recover decides what follows an unfinished plan: another request, or the error that ends the
// work.
func (r *run) recover(ctx context.Context, err error, tries int) (request, error) {
	again := tries < r.deps.Config.Agent.Refusals
	switch stopped := stop.As(err, stop.Findings, stop.StepFailed); {
	case stopped == nil:
		return request{}, err
	case stopped.Kind == stop.Findings && again:
		// A killed run has left a draft: it is committed before it is linted.
		return request{event: model.Findings, text: tellFindings(stopped.Error(), r.planPaper())},
			errors.Join(r.states.stepFails(err), r.states.fire("reorient", nil))
	case stopped.Kind == stop.Findings:
		return request{}, err
	default:
		if err := r.states.stepFails(err); err != nil {
			return request{}, err
		}
		if !again {
			return request{}, r.states.fail(r.gaveUp(stopped, tries+1))
		}
		next, err := r.mend(ctx, stopped)
		if err == nil && r.states.state != stateDebugging {
			err = r.states.fire("reorient", nil)
		}
		return next, err
	}
}

// gaveUp is the end after too many failed plans.
func (r *run) gaveUp(failed *stop.Stop, plans int) error {
	if refused := stop.As(failed, stop.Refused); refused != nil {
		return r.deps.Work.NotPushed(plans, refused.Output)
	}
	times := ""
	if plans > 1 {
		times = fmt.Sprintf(" The plan was tried %d times.", plans)
	}
	return &stop.Stop{Kind: stop.Unfinished, Err: failed.Err, Why: "S" + strings.TrimPrefix(failed.Why, "s") + "." + times,
		Output: diag.Indent(diag.CleanLines(failed.Err.Error()))}
}

// mend cleans the tree for another plan after a failed step.
func (r *run) mend(ctx context.Context, failed *stop.Stop) (request, error) {
	if refused := stop.As(failed, stop.Refused); refused != nil {
		// A refused commit cannot be fixed by another on top of it.
		r.deps.Log.Warn().Str("findings", refused.Output).Msg("the push was refused")
		return request{event: model.Refused, text: refused.Output, failed: failed}, r.deps.Work.Restart(ctx)
	}
	r.deps.Log.Warn().Str("step", failed.Why).Err(failed.Err).Msg("a step of the plan failed")
	return request{event: model.Failed, text: tellStepFailed(failed, r.planPaper()), failed: failed}, nil
}

// orient runs the orientation (PLAN-7); the first time it also tells the model what the
// repository knows.
func (r *run) orient(ctx context.Context, first bool) error {
	begun, err := task.Begin(ctx, r.deps.Directive, orient.Options{
		Tree: r.tree, Getenv: r.deps.Getenv, Unit: r.deps.Work.Record.Unit().String(), Bare: r.deps.Bare,
		Search: web.Asker(r.deps.Config.Search.URL),
	}, r.activity)
	if err != nil {
		return err
	}
	if report := begun.Report; report.Failed() {
		why := errors.New(strings.Join(report.Problems, "; "))
		if err := r.states.fire("orientation_failed", why); err != nil {
			return err
		}
		return stop.New(stop.Blocked, "Orientation failed, so the work did not begin: %s.", diag.Clean(why.Error()))
	}
	if err := r.states.fire("orientation_succeeded", nil); err != nil || !first {
		return err
	}
	ask := r.deps.Ask(begun.Text(), r.planPaper())
	if planned, err := r.deps.Work.Planned(ctx, r.path); err != nil {
		return err
	} else if r.deps.Scout && planned == "" {
		if ask.Scouted, err = r.scout(ctx, begun.Text()); err != nil {
			return r.states.fail(err)
		}
	}
	r.deps.Session.Tell("", ask.Text())
	return nil
}

// execute runs or resumes the plan. Runs from before the commit do not count.
func (r *run) execute(ctx context.Context, commit string) error {
	const kept = 20 // steps whose output the model sees at the end
	runner := r.runner(commit)
	var last []string
	runner.Output = func(step, text string) {
		r.deps.Session.Transcript.Ran(step, text)
		if last = append(last, stepOutput(step, text)); len(last) > kept {
			last = last[1:]
		}
	}
	var stepErr error
	runner.Next = func(n planrun.Next) error {
		if n.Command != "" {
			r.deps.Live.Tell(live.Event{Kind: live.Called, Tool: string(n.Action), Text: n.Command})
		}
		return r.states.stepBegins(n)
	}
	runner.Done = func(string) { stepErr = errors.Join(stepErr, r.states.stepEnds()) }
	result, err := runner.Run(ctx, r.path)
	if err = errors.Join(err, stepErr); err != nil {
		return err
	}
	r.deps.Log.Info().Int("steps", result.Steps).Int("now", result.Executed).Msg("the plan is executed")
	r.results = strings.Join(last, "\n")
	return r.states.fire("all_steps_completed", nil)
}

// runner runs the directive's plans in its working clone; runs from before the commit do not
// count, "" counts all.
func (r *run) runner(since string) *planrun.Runner {
	o, c := r.deps, r.deps.Config
	own, outside := c.CallTools()
	return &planrun.Runner{
		Record: o.Work.Record, Control: r.control, Trailers: []string{record.TrailerDirective + ": " + o.Directive.Name()},
		Gate: o.Session.Gate, Tree: r.tree, Box: o.Box, Log: r.activity, Task: o.Directive.Name(), Since: since, Redact: o.Redact,
		Advised: true, // by the critic
		Search:  c.Search.URL, Bare: o.Bare, Calls: own, Tools: outside,
		Limits:  vm.Limits{Instructions: c.VM.MaxInstructions, Cells: c.VM.MaxCells, Time: c.VM.MaxTime.Duration, Output: c.VM.MaxOutput},
		Effects: r,
	}
}

// Message tells the PM (planrun.Effects).
func (r *run) Message(ctx context.Context, text, key string) error {
	return r.deps.Message(ctx, key+"\n\n"+text)
}

// Submit does nothing: the push at the iteration's end sends it all.
func (r *run) Submit(context.Context) error { return nil }

// Close writes the task's post-mortem.
func (r *run) Close(_ context.Context, id string) (string, error) {
	now := time.Now()
	path := r.paper(task.PostMortemPath(now, id))
	return "closed " + id + ": " + path, task.WritePostMortem(r.tree, path, id, now, "The plan is "+r.path+"; each step of it is a commit.")
}

// planner makes this run's planner.
func (r *run) planner() *planner {
	o := r.deps
	return &planner{
		directive: o.Directive.Name(), work: o.Work, tree: r.tree, session: o.Session, states: r.states,
		refusals: o.Config.Agent.Refusals, log: o.Log, run: r, critic: r.critic(),
	}
}

// critic makes this run's critic.
func (r *run) critic() *critic {
	return &critic{directive: r.deps.Directive.Name(), runner: r.runner(""), activity: r.activity, amends: r.amends}
}

// finalize asks the model for its final text. It keeps what the model writes below .ward/,
// which 002 wants completed; anything else is work outside the plan.
func (r *run) finalize(ctx context.Context) (string, error) {
	s := r.deps.Session
	s.Tell(model.Done, askForWords(r.results, r.paper(record.PostMortems)))
	words, err := s.Run(ctx)
	if stop.Is(err, stop.Restart) {
		return "", err
	}
	if err != nil {
		return "", r.states.fail(err)
	}
	r.postMortem(ctx, words, nil)
	if err := r.deps.Work.ResetWork(ctx); err != nil {
		return "", err
	}
	return words + s.Tally.Sentence(), r.states.fire("finalization_succeeded", nil)
}
