package cycle

import (
	"context"
	"fmt"
	"strings"

	"git-ward/agent/interaction"
	"git-ward/agent/stop"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// checkNull is NULL_CHECK: a loop without a goal, a criterion or a declared certificate does
// not begin (LOOP-1).
func (r *run) checkNull(context.Context) (loop.Decision, error) {
	if missing := r.deps.Declaration.Missing(); len(missing) > 0 {
		return loop.Decision{Event: loop.NullDetected, Reason: loop.NeedReason(missing), Words: "something is missing"}, nil
	}
	return loop.Decision{Event: loop.InputsDefined}, nil
}

// declare is DREAM_GOAL: it writes plan.json and the loop's section of LEARNINGS.md, once.
// They are pushed with the first iteration's capsule.
func (r *run) declare(ctx context.Context) (loop.Decision, error) {
	plan, err := loop.Encode(r.deps.Declaration)
	if err != nil {
		return loop.Decision{}, err
	}
	learnings, err := r.deps.Work.Record.File(ctx, loop.LearningsPath)
	if err != nil {
		return loop.Decision{}, err
	}
	files := map[string][]byte{
		r.top(loop.PlanFile): plan,
		loop.LearningsPath:   []byte(loop.StartLoop(string(learnings), r.deps.Declaration, r.deps.Now().UTC().Format("2006-01-02"))),
	}
	if len(r.deps.Limits.Reductions) > 0 {
		files[r.top(loop.ReductionFile)] = []byte(strings.Join(r.deps.Limits.Reductions, "\n") + "\n")
	}
	err = r.commit(ctx, "loop: "+r.deps.Declaration.LoopID+" declares its goal and how it may halt", files)
	return loop.Decision{Event: loop.PlanWritten}, err
}

// commit commits evidence to the record. It is pushed with the journal's next step.
func (r *run) commit(ctx context.Context, subject string, files map[string][]byte, trailers ...string) error {
	_, err := r.deps.Work.Record.Commit(ctx, r.deps.Work.Record.Message(subject, "", trailers...), "", files)
	return err
}

// iterationTrailer names the iteration in a commit of the record.
func (r *run) iterationTrailer(n int) string {
	return fmt.Sprintf("%s: %d", record.TrailerIteration, r.counted(n))
}

// spawn is SPAWN_SUBAGENT: it begins the iteration in the journal, builds its capsule, and has
// the Solver work on it.
func (r *run) spawn(ctx context.Context) (loop.Decision, error) {
	if !r.inProgress() {
		if d, err := r.begin(ctx); err != nil || d.Event != "" {
			return d, err
		}
	}
	if d, err := r.takeUp(ctx); err != nil || d.Event != "" {
		return d, err
	}
	if err := r.deps.Work.Record.Show(ctx, r.now.brief.CapsulePath); err != nil {
		return loop.Decision{}, err
	}
	if held, err := r.heldAlready(ctx); held || err != nil {
		return loop.Decision{Event: loop.SubagentOutput}, err
	}
	return loop.Decision{Event: loop.SubagentOutput}, r.solve(ctx, "")
}

// mayHold reports whether the unit's first claim is, or will be, of the project before any work, because
// the directive says that its criteria may hold already.
func (r *run) mayHold() bool {
	if r.deps.Work.Directive.Options.MayHold == "" || r.past.ended > 0 {
		return false
	}
	claims := 0
	for _, rec := range r.deps.Journal.Records {
		if rec.ReasonCode == uow.IncludedNow {
			return false
		}
		if rec.Event == uow.MakeClaim {
			claims++
		}
	}
	return claims < 2
}

// heldAlready claims the project before any work if the directive allows that (mayHold), and reports
// whether the verdict leaves nothing to do. Otherwise the same iteration continues with the work, so that
// the claim costs no iteration.
func (r *run) heldAlready(ctx context.Context) (bool, error) {
	if !r.mayHold() {
		return false, nil
	}
	if r.deps.Journal.Claimed() == nil {
		d, err := r.claim(ctx)
		if stop.As(err, stop.Refused) != nil { // the Solver's own claim will be refused, too, and it is told why
			return false, nil
		}
		if err != nil || d.Event != loop.ArtifactsPresent {
			return false, err
		}
	}
	d, err := r.await(ctx)
	if err != nil || d.Event != "" {
		return true, err
	}
	if v := r.now.result.Verdict; v.Verdict == loop.Exact || v.Verdict == loop.Converged {
		return true, nil
	}
	r.now.result = Result{}
	return false, nil
}

// begin begins an iteration in the journal unless a signal says stop. BUDGET_CHECK precedes
// all but the first. One push has the step, the end of the previous iteration, and the
// capsule.
func (r *run) begin(ctx context.Context) (loop.Decision, error) {
	if r.past.ended == 0 {
		if signals := r.deps.Unit.Signals(ctx); len(signals) > 0 {
			return loop.Decision{Event: loop.Backpressure, Reason: loop.BackpressureSignal, Words: signals[0].Words()}, nil
		}
		if over := r.overspent(); over != "" { // no iteration began, so none must be ended
			return loop.Decision{}, stop.New(stop.Suspended, "%s", over)
		}
	}
	in := uow.Input{Event: uow.Iterate, Reason: "ITERATION_STARTED"}
	if d, err := r.admits(ctx, in); err != nil || d.Event != "" {
		return d, err
	}
	ended := r.now
	if d, err := r.takeUp(ctx); err != nil || d.Event != "" {
		return d, err
	}
	d, refused, err := r.offer(ctx, in)
	if refused == nil {
		return d, err
	}
	if ended.cert == nil {
		return broken("the evidence was refused: " + refused.Output), nil
	}
	// The remote may have refused a model's text, such as a secret in it. The facts are in the
	// verdict, so the learnings can do without it.
	r.deps.Log.Warn().Str("findings", refused.Output).Msg("the learnings were refused; once more without the model's words")
	if err := r.again(ctx, ended); err != nil {
		return loop.Decision{}, err
	}
	if d, err := r.takeUp(ctx); err != nil || d.Event != "" {
		return d, err
	}
	if d, refused, err = r.offer(ctx, in); refused != nil {
		return broken("the evidence was refused: " + refused.Output), nil
	}
	return d, err
}

// takeUp resumes the iteration in progress, with its capsule from committed data (LOOP-3).
func (r *run) takeUp(ctx context.Context) (loop.Decision, error) {
	n := r.number()
	if r.now.taken && r.now.brief.Iteration == n {
		return loop.Decision{}, nil
	}
	r.deps.Live.At(r.deps.Journal.ID.String(), int64(r.counted(n)))
	r.now = iteration{taken: true, began: r.deps.Now(), brief: Brief{Iteration: n, CapsulePath: r.path(n, loop.CapsuleFile)}}
	if r.inProgress() {
		if err := r.recall(ctx); err != nil {
			return loop.Decision{}, err
		}
	}
	have, err := r.deps.Work.Record.File(ctx, r.now.brief.CapsulePath)
	if err != nil {
		return loop.Decision{}, err
	}
	if have != nil { // a killed run has pushed the capsule: it must not change
		r.now.brief.Capsule = have
		return loop.Decision{}, nil
	}
	return r.writeCapsule(ctx)
}

// writeCapsule builds the capsule from the record.
func (r *run) writeCapsule(ctx context.Context) (loop.Decision, error) {
	learnings, err := r.deps.Work.Record.File(ctx, loop.LearningsPath)
	if err != nil {
		return loop.Decision{}, err
	}
	said := loop.TellPM(string(learnings), r.deps.Journal.ID.String(), r.said())
	b, begun := &r.now.brief, 0
	if r.inProgress() {
		begun = 1
	}
	sources := loop.Sources{Declaration: r.deps.Declaration, Limits: r.deps.Limits, Iteration: b.Iteration, Spent: r.spent() - begun,
		Used: r.past.budget.Used(), Last: r.past.last, Learnings: said, Manifest: r.past.manifest, Newest: r.past.newest}
	capsule, compaction, found := loop.Build(sources)
	if len(found) > 0 {
		return broken("the capsule may not hold: " + strings.Join(found, "; ")), nil
	}
	b.Capsule = append(capsule, '\n')
	files := map[string][]byte{b.CapsulePath: b.Capsule}
	if said != string(learnings) {
		files[loop.LearningsPath] = []byte(said)
	}
	if compaction != "" {
		files[r.top(loop.CompactionFile)] = []byte(compaction + "\n")
	}
	return loop.Decision{}, r.commit(ctx, fmt.Sprintf("loop: iteration %d begins", b.Iteration), files, r.iterationTrailer(b.Iteration))
}

// said returns the PM's words on the unit, for LEARNINGS.md.
func (r *run) said() (list []string) {
	for _, words := range uow.Words(r.deps.Journal.Records) {
		list = append(list, r.deps.Work.Redact(words))
	}
	return list
}

// solve runs the Solver if it is paid for. Its interruption or failure is a result like any
// other: what it has so far is collected.
func (r *run) solve(ctx context.Context, refusal string) error {
	r.now.solved = true
	done, err := r.askSolver(ctx, refusal)
	r.took(done)
	stopped := stop.As(err, stop.Unfinished, stop.Spent, stop.Blocked)
	r.now.stopped, r.now.missing = stopped != nil, stopped != nil && stop.Is(err, stop.Missing)
	if stopped == nil {
		return err
	}
	r.now.result.Words = r.deps.Work.Redact(strings.TrimSpace(stopped.Why + "\n\n" + stopped.Output))
	if stopped.Kind == stop.Spent {
		r.unpaid = strings.TrimSuffix(stopped.Why, ".")
	}
	return nil
}

func (r *run) askSolver(ctx context.Context, refusal string) (interaction.Done, error) {
	if over := r.overspent(); over != "" {
		return interaction.Done{}, stop.New(stop.Spent, "%s", over)
	}
	team, err := r.assemble(ctx)
	if err != nil {
		return interaction.Done{}, err
	}
	brief := r.now.brief
	brief.Left = r.deps.Limits.Remaining(0, r.used())
	return team.Solve(ctx, brief, refusal)
}

// assemble makes the team when it is first needed.
func (r *run) assemble(ctx context.Context) (Team, error) {
	if r.team != nil {
		return r.team, nil
	}
	var err error
	r.team, err = r.deps.Unit.Team(ctx, &r.subagents)
	return r.team, err
}

// count counts tool calls.
func (r *run) count(calls int) {
	r.calls += calls
	r.now.calls += calls
}
