package orchestrator

import (
	"context"
	"errors"

	"git-ward/agent/model"
	"git-ward/agent/prompt"
	"git-ward/agent/session"
	"git-ward/agent/stop"
	"git-ward/internal/diag"
	"git-ward/protocols/loop"
)

const (
	scoutTurns = 20      // turns of the Scout in total
	maxScouted = 8 << 10 // bytes of its final text
)

// scout lets the model explore in a separate conversation before the work (LOOP-8), and
// returns its final text. The tree is restored afterwards. The work goes on without a result
// if the Scout fails.
func (r *run) scout(ctx context.Context, orientation string) (string, error) {
	o := r.deps
	from, err := o.Work.PlanHead(ctx)
	if err != nil {
		return "", err
	}
	head, err := o.Work.Head(ctx)
	if err != nil {
		return "", err
	}
	o.Session.Transcript.Begins(string(loop.Scout))
	defer o.Session.Transcript.Begins(string(loop.Solver))
	s := o.scoutSession()
	p := o.Prompt
	p.Kind, p.Directive, p.Orientation = prompt.Scout, o.Directive, orientation
	s.Tell("", p.Text())
	_, err = s.Run(ctx)
	o.Session.Tally.Turns += s.Tally.Turns
	o.Session.Tally.Calls += s.Tally.Calls
	o.Session.Tally.Usage.Add(s.Tally.Usage)
	if stop.Is(err, stop.Unfinished) && ctx.Err() == nil {
		o.Log.Warn().Err(err).Msg("the Scout came to no end; the work begins without its words")
		err = nil
	}
	if err != nil {
		return "", err
	}
	_, changes, err := o.Work.Keep(ctx, from, head) // which also resets the branch
	if refused := stop.As(err, stop.Refused); refused != nil {
		err = nil
	}
	if len(changes) > 0 {
		o.Log.Warn().Strs("changes", changes[:min(len(changes), 20)]).Msg("what the Scout changed is thrown away")
	}
	return diag.CleanLines(diag.Cut(s.Said(), maxScouted)), errors.Join(err, o.Work.Restore(ctx, from))
}

// scoutSession is a new conversation with the same model and budgets, without tools that
// change anything.
func (o *Orchestrator) scoutSession() *session.Session {
	talk := o.Session.Talk
	s := &session.Session{Model: o.Session.Model, Name: o.Session.Name, MaxTurns: min(scoutTurns, o.Session.MaxTurns), Gate: o.Session.Gate,
		Transcript: o.Session.Transcript,
		Log:        o.Log.With().Str("role", string(loop.Scout)).Logger(),
		Talk:       model.Conversation{System: talk.System, Directive: talk.Directive, Title: talk.Title, Role: string(loop.Scout)}}
	for _, t := range o.Box.Tools() {
		if t.Name == "read_file" || t.Name == "bash" {
			s.Talk.Tools = append(s.Talk.Tools, t)
		}
	}
	var capsule []byte
	if o.Prompt.Capsule != "" {
		capsule = []byte(o.Prompt.Capsule)
	}
	s.Open(talk.Iteration, o.Prompt.CapsulePath, capsule)
	return s
}
