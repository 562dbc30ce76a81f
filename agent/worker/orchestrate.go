package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"git-ward/agent/activity"
	"git-ward/agent/model"
	"git-ward/agent/orient"
	"git-ward/agent/planrun"
	"git-ward/agent/stop"
	"git-ward/agent/task"
	"git-ward/internal/diag"
	"git-ward/internal/worktree"
	"git-ward/protocols/comms"
	"git-ward/protocols/fsm"
	"git-ward/vm"
)

// orchestrator leads the work on a directive through the machine of that name
// (002): orientation, planning, execution, finalizing. Every transition is in the
// activity log.
type orchestrator struct {
	*conversation
	machine  *fsm.Machine
	state    string
	activity *activity.Log
	tree     *worktree.Tree
}

// planPath is where the plan of a directive is.
func planPath(directive string) string { return "plans/" + directive + ".plan.txt" }

// researchPath is where its research plan is, when it has one.
func researchPath(directive string) string { return "plans/" + directive + ".research.plan.txt" }

func (c *conversation) newOrchestrator() (*orchestrator, error) {
	log, err := activity.Open(filepath.Join(c.State, "logs"))
	if err != nil {
		return nil, err
	}
	log.Redact = c.Redact
	m, _ := fsm.Embedded(fsm.Orchestrator)
	tree := &worktree.Tree{Dir: c.work.Dir(), Env: c.store.Environ()}
	return &orchestrator{conversation: c, machine: m, state: m.Start, activity: log, tree: tree}, nil
}

// fire makes a transition and logs it; why is the reason of a failure.
func (o *orchestrator) fire(on string, why error) error {
	from := o.state
	to, ok := o.machine.Next(from, on)
	if !ok {
		return fmt.Errorf("the machine %s has no transition on %s in %s", o.machine.Name, on, from)
	}
	o.state = to
	if from == to {
		return nil // a step, which has a line of its own
	}
	e := activity.Transition(o.directive.Name(), o.machine.Name, from, on, to)
	if why != nil {
		if to == stateError {
			e.Action.Type = activity.SystemFailure
		}
		e.Outcome.Status, e.Outcome.Error = activity.Failure, why.Error()
	}
	o.log.Info().Str("from", from).Str("on", on).Str("to", to).Msg("state")
	return o.activity.Append(e)
}

// run takes the directive from orientation to the model's last words. The refusal
// is why the push of the work before was refused, "" for none.
func (o *orchestrator) run(ctx context.Context, refusal string) (words string, err error) {
	event := model.Event("")
	if refusal != "" {
		event = model.Refused
	}
	if err := o.fire("begin_task", nil); err != nil {
		return "", err
	}
	var failed *stop.Stop // the last step that did
	for tries := 0; ; tries++ {
		if o.state != stateDebugging {
			if err := o.orient(ctx, tries == 0 && refusal == ""); err != nil {
				return "", err
			}
		}
		commit, err := o.plan(ctx, event, refusal)
		if stop.Is(err, stop.Blocked) && failed != nil {
			return "", o.gaveUp(failed, tries) // which is why there is no other plan
		}
		if err != nil {
			return "", err
		}
		err = o.execute(ctx, commit)
		if err == nil {
			break
		}
		if unsound := stop.As(err, stop.Findings); unsound != nil && tries < o.Config.Agent.Refusals {
			// A run that was killed has left a draft: it is committed before its lint.
			if err := errors.Join(o.stepFailed(err), o.fire("reorient", nil)); err != nil {
				return "", err
			}
			event, refusal = model.Findings, notExecuted(unsound.Error(), o.talk.Plan)
			continue
		}
		step := stop.As(err, stop.StepFailed)
		if step == nil {
			return "", err
		}
		failed = step
		if err := o.stepFailed(err); err != nil {
			return "", err
		}
		if tries == o.Config.Agent.Refusals {
			return "", o.fail(o.gaveUp(failed, tries+1))
		}
		if event, refusal, err = o.mend(ctx, failed); err != nil {
			return "", err
		}
		if o.state == stateDebugging {
			continue
		}
		if err := o.fire("reorient", nil); err != nil {
			return "", err
		}
	}
	return o.finalize(ctx)
}

// gaveUp is the end after too many plans that failed.
func (o *orchestrator) gaveUp(failed *stop.Stop, plans int) error {
	if refused := stop.As(failed, stop.Refused); refused != nil {
		return refusedFor(o.work.Branch, plans, refused.Output)
	}
	times := ""
	if plans > 1 {
		times = fmt.Sprintf(" The plan was tried %d times.", plans)
	}
	return &stop.Stop{Kind: stop.Unfinished, Why: "S" + strings.TrimPrefix(failed.Why, "s") + "." + times, Output: indent(diag.CleanLines(failed.Err.Error()))}
}

// mend makes the tree ready for another plan after a failed step, and says what
// the model is told.
func (o *orchestrator) mend(ctx context.Context, failed *stop.Stop) (model.Event, string, error) {
	if refused := stop.As(failed, stop.Refused); refused != nil {
		// A commit that is refused cannot be mended by one on top of it.
		o.log.Warn().Str("findings", refused.Output).Msg("the push was refused")
		if err := o.work.Restart(ctx); err != nil {
			return "", "", err
		}
		return model.Refused, refused.Output, nil
	}
	o.log.Warn().Str("step", failed.Why).Err(failed.Err).Msg("a step of the plan failed")
	return model.Failed, fmt.Sprintf("%v\n\nThe steps before it are done and stay; what it did itself is undone. Plan what is left to do, in %s.",
		failed, o.talk.Plan), nil
}

// orient runs the orientation cascade (PLAN-7); the first time it also tells the
// model what the repository knows.
func (o *orchestrator) orient(ctx context.Context, first bool) error {
	report, err := task.Start(ctx, o.directive.Name(), orient.Options{Tree: o.tree, Getenv: getenv}, o.activity)
	if err != nil {
		return err
	}
	if report.Failed() {
		why := errors.New(strings.Join(report.Problems, "; "))
		if err := o.fire("orientation_failed", why); err != nil {
			return err
		}
		return stop.New(stop.Blocked, "Orientation failed, so the work did not begin: %s.", diag.Clean(why.Error()))
	}
	if err := o.fire("orientation_succeeded", nil); err != nil || !first {
		return err
	}
	known := task.Query(ctx, o.tree, o.Bare, o.directive.Raw)
	if err := known.Log(o.directive.Name(), o.activity); err != nil {
		return err
	}
	var text strings.Builder
	report.WriteText(&text)
	o.tell("", "# Orientation\n\n"+text.String()+"\n"+known.Text()+"\n"+o.asks())
	return nil
}

func getenv(name string) string { return os.Getenv(name) }

func (o *orchestrator) tell(on model.Event, text string) {
	o.talk.Messages = append(o.talk.Messages, model.Message{Role: model.User, On: on, Text: text})
}

// excerptLines keeps what a step gave readable.
func excerptLines(s string) string {
	const size = 16 << 10
	if len(s) > size {
		s = strings.ToValidUTF8(s[:size], "") + "\n[cut]"
	}
	return s
}

// execute runs the plan, or goes on with it.
func (o *orchestrator) execute(ctx context.Context, commit string) error {
	r := o.runner(commit)
	var last []string
	r.Output = func(step, text string) {
		if last = append(last, step+":\n"+indent(excerptLines(text))); len(last) > 20 {
			last = last[1:]
		}
	}
	var stepErr error
	r.Next = o.before
	r.Done = func(string) { stepErr = errors.Join(stepErr, o.after()) }
	result, err := r.Run(ctx, o.talk.Plan)
	if err = errors.Join(err, stepErr); err != nil {
		return err
	}
	o.log.Info().Int("steps", result.Steps).Int("now", result.Executed).Msg("the plan is executed")
	o.results = strings.Join(last, "\n")
	return o.fire("all_steps_completed", nil)
}

// runner runs plans of the directive in its working clone; runs from before the
// commit do not count.
func (o *orchestrator) runner(since string) *planrun.Runner {
	c := o.Config
	return &planrun.Runner{
		Guard: o.guarded, Tree: o.tree, Box: o.box, Log: o.activity, Task: o.directive.Name(), Since: since, Redact: o.Redact,
		Search: c.Search.URL, Calls: c.VM.Calls,
		Limits: vm.Limits{Instructions: c.VM.MaxInstructions, Cells: c.VM.MaxCells, Time: c.VM.MaxTime.Duration, Output: c.VM.MaxOutput},
		Message: func(ctx context.Context, text, key string) error {
			return o.store.Report(ctx, comms.NewReport{Time: time.Now(), Directive: o.directive.Name(), Status: comms.Info, Text: key + "\n\n" + text})
		},
		Submit: func(ctx context.Context, _ string) error { return o.work.Push(ctx) },
		Close: func(_ context.Context, id string) (string, error) {
			path, err := task.WritePostMortem(o.tree, id, time.Now(), "The plan is "+o.talk.Plan+"; each step of it is a commit.")
			return "closed " + id + ": " + path, err
		},
	}
}

// finalize asks the model for its last words. What it writes into postmortems/
// stays, for 002 wants it completed; anything else is work that no plan holds.
func (o *orchestrator) finalize(ctx context.Context) (string, error) {
	text := "All steps of the plan are done. Complete the post-mortem in postmortems/ if there is something to be learnt, and end with your last words, which become the report."
	if o.results != "" {
		text += "\n\nWhat the last steps gave:\n\n" + o.results
	}
	o.tell(model.Done, text)
	words, err := o.turns(ctx)
	if stop.Is(err, stop.Restart) {
		return "", err
	}
	if err != nil {
		return "", o.fail(err)
	}
	if err := o.work.KeepOnly(ctx, "postmortems"); err != nil {
		return "", err
	}
	return words + o.tally.sentence(), o.fire("finalization_succeeded", nil)
}
