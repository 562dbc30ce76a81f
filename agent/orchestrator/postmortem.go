package orchestrator

import (
	"context"
	"fmt"
	"time"

	"git-ward/agent/stop"
	"git-ward/agent/task"
	"git-ward/internal/diag"
)

// settleTime is how long the model's final text may take after the work's context has ended.
const settleTime = 10 * time.Second

// endsEarly closes the task of work that did not finish and will not be continued in this
// clone, as is done for a program (WORK-1).
func (r *run) endsEarly(ctx context.Context, end error) {
	if over := stop.Of(context.Cause(ctx)); over != nil { // more than only its result
		end = over
	}
	// The reason that stopped the work does not stop the post-mortem.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	if task.Closes(end) {
		r.postMortem(ctx, r.deps.Session.Said(), end)
	}
}

// postMortem writes the post-mortem from facts if the model left the template, or there is
// none. words are the model's final text; end is why the work did not finish by itself, nil if
// it did.
func (r *run) postMortem(ctx context.Context, words string, end error) {
	s := r.deps.Session
	f := task.Facts{Worker: s.Name, Began: r.began, Took: time.Since(r.began), Used: " in " + diag.Count(s.Talk.Turns(), "turn"),
		Failed: s.Transcript.Failed(), Words: words, End: task.Why(end)}
	if r.deps.Prompt.Capsule != "" {
		f.Iteration = fmt.Sprint(s.Talk.Iteration)
	}
	var err error
	if _, f.Changes, err = r.deps.Work.Changed(ctx, r.start); err != nil {
		r.deps.Log.Warn().Err(err).Msg("the post-mortem goes without the changes")
	}
	if end == nil { // the plan has closed the task
		_, err = task.WriteFacts(ctx, r.tree, r.deps.Directive.Name(), f)
	} else {
		_, err = task.CloseByFacts(ctx, r.tree, r.deps.Directive.Name(), f, r.activity)
	}
	if err != nil {
		r.deps.Log.Warn().Err(err).Msg("there is no post-mortem")
	}
}
