package orchestrator

import (
	"context"
	"fmt"
	"time"

	"git-ward/agent/stop"
	"git-ward/agent/task"
	"git-ward/internal/diag"
)

// settleTime is how long the last words on the work may take when its context has ended.
const settleTime = 10 * time.Second

// endsEarly closes the task of work that did not come to an end of its own, and is not to
// be gone on with where it is, as that of a program is closed (WORK-1).
func (r *run) endsEarly(ctx context.Context, end error) {
	if over := stop.Of(context.Cause(ctx)); over != nil { // which is more than what came of it
		end = over
	}
	// What stopped the work does not stop the last words on it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	if task.Closes(end) {
		r.postMortem(ctx, r.deps.Session.Said(), end)
	}
}

// postMortem makes the post-mortem of facts where the model has left it as the plan made
// it, or there is none. The words are the model's last ones; end is why the work did not come
// to its own end, nil where it did.
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
