package worker

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"git-ward/agent/activity"
	"git-ward/agent/cycle"
	"git-ward/agent/skeptic"
	"git-ward/agent/stop"
	"git-ward/agent/store"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/review"
	"git-ward/protocols/uow"
)

// unitRun is one run of the process on a unit of work.
type unitRun struct {
	deps *deps
	unit *unit
	work *store.Work
	log  zerolog.Logger

	note     string // for the journal's next step
	watching *watch // checks the unit while it is worked on; nil before

	// For the report: why the agent did not merge, and the lessons' results.
	unmerged, lessons string
	ending            *review.Ending // the report that went with the unit's end; nil for none
	refined           bool           // the analysis went with it
}

func newUnitRun(d *deps, directive comms.Directive, w *store.Work, log zerolog.Logger) *unitRun {
	return &unitRun{deps: d, work: w, log: log, unit: &unit{store: d.store, config: d.config, directive: directive, live: d.live, heard: d.heard, log: log}}
}

// run takes a directive through a unit of work and the bounded loop to its report (AGT-4). For
// a unit that waits for somebody it does nothing, without an error.
func (r *unitRun) run(ctx context.Context) error {
	if err := r.unit.open(ctx, r.work); err != nil {
		return err
	}
	if err := r.work.Begin(ctx, r.unit.journal, r.unit.earlier); err != nil {
		return errors.Join(err, r.unit.flush(ctx))
	}
	err := r.resume(ctx)
	if r.unit.last() == nil { // not opened: another worker was faster
		return err
	}
	if wait := stop.As(err, stop.Suspended, stop.Asked, stop.Outage, stop.Denied, stop.Killed, stop.Missing); wait != nil {
		r.log.Warn().Str("unit", r.unit.journal.ID.String()).Stringer("kind", wait.Kind).Msg(wait.Why)
		if wait.Kind == stop.Suspended {
			err = r.suspended(ctx, wait)
		} else {
			err = nil
		}
		err = errors.Join(err, r.tell(ctx))
	}
	return errors.Join(err, r.unit.flush(ctx, r.work))
}

// resume continues the unit from its journal's state to its end.
func (r *unitRun) resume(ctx context.Context) error {
	if r.unit.last().State.Ended() {
		return r.afterwards(ctx)
	}
	where := r.stopFile(ctx)
	if err := r.activate(ctx, where); err != nil {
		return err
	}
	if where != "" && r.unit.last().Iteration > 0 { // before the first iteration the loop's own signals apply
		return stopped(where)
	}
	end, err := r.loop(ctx)
	if err != nil {
		return err
	}
	report := end.Report
	if report.Status == loop.ExitNeedInfo && report.StopReason != loop.NotIncluded {
		return r.needInfo(ctx, report)
	}
	failed, err := r.notStarted(ctx, report)
	if err != nil {
		return err
	}
	if failed != "" {
		return r.fallen(ctx, failed)
	}
	if err := r.merge(ctx, report); err != nil {
		return err
	}
	return r.finish(ctx, end)
}

// loop runs the bounded loop in the directive's clone.
func (r *unitRun) loop(ctx context.Context) (cycle.End, error) {
	log, err := activity.Open(filepath.Join(r.deps.store.State, "logs"))
	if err != nil {
		return cycle.End{}, err
	}
	log.Redact = r.deps.redact
	if err := r.declareSkills(ctx); err != nil {
		return cycle.End{}, err
	}
	if r.note, err = r.takeUp(ctx); err != nil {
		return cycle.End{}, err
	}
	ctx, end := r.watch(ctx)
	defer end()
	l := r.newLoop(r)
	l.Activity, l.Lost = log, r.watching.lost
	ended, err := l.Run(ctx)
	if why := stop.As(context.Cause(ctx), stop.Suspended); err != nil && why != nil {
		err = why // the cause, not an error that followed from it
	}
	return ended, err
}

// newLoop makes the unit's bounded loop; now is the running or the ended unit.
func (r *unitRun) newLoop(now cycle.Unit) *cycle.Loop {
	d, u := r.deps, r.unit
	return &cycle.Loop{Unit: now, Work: r.work, Journal: u.journal, Declaration: u.declaration, Limits: u.limits,
		Refusals: d.config.Agent.Refusals, Live: d.live, Log: r.log, Now: time.Now}
}

// World is the unit's.
func (r *unitRun) World(ctx context.Context) (uow.World, error) { return r.unit.world(ctx) }

// Over returns why the launch allows no more work, "" if it does.
func (r *unitRun) Over() string { return r.deps.launch.WhyOver() }

// Words returns the transcript that earlier runs could not commit to the record.
func (r *unitRun) Words() string { return r.unit.lost() }

// Note returns the note for the journal's next step.
func (r *unitRun) Note() string { return r.note }

// Noted clears the note.
func (r *unitRun) Noted() { r.note = "" }

// Verdict waits for the host's verdict on a claim: as long as the verifier may take for the
// directive's commands, as far as the settings and the launch's time allow.
func (r *unitRun) Verdict(ctx context.Context, commit, claim string) (*loop.Verdict, error) {
	const runs = 3 + loop.ControlRuns // twice the verifier's time, and once for the images
	commands := len(r.unit.declaration.Commands) + 2
	c := r.deps.config
	most := time.Duration(runs*commands)*c.Verify.Timeout.Duration + time.Minute
	patience := r.deps.launch.Patience(min(most, c.Agent.VerdictPatience.Duration), c.Budget.Grace.Duration)
	v, err := r.deps.store.AwaitVerdict(ctx, commit, claim, patience, func(*loop.Verdict) bool { return true })
	if err != nil || v == nil || !v.Untried {
		return v, err
	}
	if failed, err := r.prove(ctx); failed || err != nil {
		return v, err
	}
	return r.deps.store.AwaitVerdict(ctx, commit, claim, patience, func(v *loop.Verdict) bool { return !v.Untried })
}

// Team is made from main's current state.
func (r *unitRun) Team(ctx context.Context, subagents *cycle.Subagents) (cycle.Team, error) {
	d := r.deps
	main, err := d.store.Main(ctx)
	if err != nil {
		return nil, err
	}
	source, _, err := main.Comms(ctx)
	if err != nil {
		return nil, err
	}
	system, err := d.systemPrompt(ctx, main, source, r.unit.directive.Name())
	if err != nil {
		return nil, err
	}
	models := order(d.config, r.instead)
	m, err := openModel(ctx, d, main, r.waits(ctx), models)
	if err != nil {
		return nil, err
	}
	policy := func() uow.Policy { return r.unit.last().Policy }
	t := &team{
		policy:    policy,
		subagents: subagents,
		skeptic:   &skeptic.Skeptic{Model: m, System: system, Directive: r.unit.directive, Launch: d.launch, Log: r.log},
	}
	if d.launch.OnBranch() {
		t.solver = &startedWork{work: r.work, launch: d.launch}
		return t, nil
	}
	t.solver = &iterationWork{subagents: subagents, launch: d.launch, limits: r.unit.limits, last: r.unit.last, watching: r.watching, keeping: r.keeping, solvers: &solvers{
		deps: d, directive: r.unit.directive, work: r.work, model: m, order: &models, system: system, lessons: recall(ctx, d.store, r.log), guidance: guide(ctx, d.store, r.work, r.log), words: func() []string { return uow.Words(r.unit.journal.Records) }, skills: r.skills(ctx, main), log: r.log,
	}}
	return t, nil
}
