package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"git-ward/agent/interaction"
	"git-ward/agent/stop"
	"git-ward/agent/tool"
	"git-ward/internal/diag"
	"git-ward/protocols/fsm"
	"git-ward/protocols/plan"
)

// The tools of a model besides those of the box.
const (
	planTool = "plan"
	askTool  = "ask"
)

// tools has the plan and the question to the PM as tools (PLAN-9, WORK-1).
func (r *run) tools() []tool.Tool {
	return []tool.Tool{
		tool.New(planTool, "Write your plan: what is to be done, step by step. It answers at once with what is wrong with it; call it again to mend it. "+
			"A program executes the plan when you end your turn. Steps must begin with set_plan and plan_step_complete, and end with run_in_bash_session "+
			"`git ward task close --task-id "+r.deps.Directive.Name()+"` and submit.", plan.Schema(), r.writePlan),
		tool.New(askTool, "Ask the PM, when only he can know, or the directive can be read in two ways and it matters which. End your turn then: the answer comes with the next run.",
			json.RawMessage(`{"type":"object","properties":{"question":{"type":"string","description":"one question, in words that a PM uses, with what you would do by yourself"}},"required":["question"],"additionalProperties":false}`),
			r.ask),
	}
}

// writePlan takes a plan as JSON, writes its text to the plan's path, and lints it there.
func (r *run) writePlan(ctx context.Context, args json.RawMessage) (tool.Result, error) {
	p, err := plan.FromJSON(args)
	if err != nil {
		return refusal(err), nil
	}
	path := r.path
	if p.Machine() == fsm.Research {
		path = researchPath(r.deps.Directive.Name())
	}
	if err := r.tree.Write(r.paper(path), []byte(p.String())); err != nil {
		return refusal(err), nil
	}
	tree, changes, err := r.deps.Work.Changed(ctx, r.from, append(makes(p), r.path)...)
	if refused := stop.As(err, stop.Refused); refused != nil {
		return tool.Result{Text: refused.Output, IsError: true}, nil
	}
	if err != nil {
		return tool.Result{}, err
	}
	found, ok, err := r.critic().look(ctx, path, p, tree)
	if err != nil {
		return tool.Result{}, err
	}
	if !ok {
		return tool.Result{Text: "The plan is not executed as it is:\n\n" + found + "\nCall plan again.", IsError: true}, nil
	}
	text := fmt.Sprintf("%s holds the plan, %s. End your turn, and it is executed.\n%s", r.paper(path), diag.Count(len(p.Steps), "step"), found)
	if n := min(len(changes), maxNamed); n > 0 {
		text += "\nIt goes on from what is changed already, which is kept: take away what does not belong to the work.\n" + diag.CleanLines(strings.Join(changes[:n], "\n"))
	}
	return tool.Result{Text: text}, nil
}

// refusal is an error with its remedy, for a model.
func refusal(err error) tool.Result {
	text := err.Error()
	if hinted, ok := errors.AsType[*diag.Hinted](err); ok && hinted.Hint != "" {
		text += "\nhint: " + hinted.Hint
	}
	return tool.Result{Text: text, IsError: true}
}

// ask records a question. Only the first counts.
func (r *run) ask(_ context.Context, args json.RawMessage) (tool.Result, error) {
	var asked struct{ Question string }
	if err := json.Unmarshal(args, &asked); err != nil || strings.TrimSpace(asked.Question) == "" {
		return tool.Result{Text: "ask takes a question: {\"question\": \"...?\"}", IsError: true}, nil
	}
	if r.question == "" {
		r.question = strings.TrimSpace(diag.CleanLines(diag.Cut(asked.Question, interaction.MaxQuestion)))
	}
	return tool.Result{Text: "It is asked. End your turn now: the answer reaches the next run."}, nil
}

// takesTurns lets the model take turns, starting from a commit of the work.
func (r *run) takesTurns(ctx context.Context, from string) (err error) {
	if r.head, err = r.deps.Work.Head(ctx); err != nil {
		return err
	}
	r.from = from
	_, err = r.deps.Session.Run(ctx)
	return err
}
