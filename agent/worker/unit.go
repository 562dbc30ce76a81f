package worker

import (
	"context"
	"path/filepath"
	"time"

	"git-ward/agent/activity"
	"git-ward/agent/cycle"
	"git-ward/agent/stop"
	"git-ward/agent/store"
	"git-ward/protocols/loop"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// unit is the unit of work of one directive, as this run takes it up.
type unit struct {
	*job
	journal *store.Journal
	before  []*store.Journal // the directive's earlier units

	declaration loop.Declaration
	limits      loop.Limits
	unmerged    string // why the agent did not merge, for the report
}

// bounded takes a directive through a unit of work and the bounded loop to its
// report (AGT-4). A unit that waits for somebody is left alone: nothing is done,
// and no error.
func (j *job) bounded(ctx context.Context) error {
	u, err := j.openUnit(ctx)
	if err != nil || u == nil {
		return err
	}
	last := u.journal.Last()
	if last.State.Ended() {
		return u.afterwards(ctx)
	}
	if err := u.activate(ctx); err != nil {
		return u.suspended(err)
	}
	end, err := u.loop(ctx)
	if err != nil {
		return u.suspended(err)
	}
	report := end.Report
	if report.Status == loop.ExitNeedInfo && report.Iterations == 0 {
		return u.suspended(u.needInfo(ctx, report))
	}
	if err := u.merge(ctx, report); err != nil {
		return err
	}
	if err := u.exit(ctx, report, end.Block); err != nil {
		return u.suspended(err)
	}
	if report.Status == loop.ExitNeedInfo {
		if err := u.ask(ctx, report); err != nil {
			return err
		}
	}
	return u.suspended(u.close(ctx, report))
}

// merge takes certified work into main where the PM lets the agent do so (HOOK-4);
// the unit completes after it (UOW-1). What the host does not take is the PM's to
// merge, and the report says why.
func (u *unit) merge(ctx context.Context, r *loop.Report) error {
	if !u.Config.Rights.AgentMerge || r.Status != loop.ExitConverged || u.journal.Last().State != uow.Active {
		return nil
	}
	head, err := u.work.Head(ctx)
	if err != nil {
		return err
	}
	if merged, err := u.store.Merged(ctx, head); merged || err != nil {
		return err
	}
	why, err := u.mayMerge(ctx)
	if err != nil {
		return err
	}
	if why != "" {
		u.unmerged = "It is not merged: " + why + "."
		return nil
	}
	err = u.store.Merge(ctx, u.work.Branch, head)
	if refused := stop.As(err, stop.Refused); refused != nil {
		u.log.Warn().Str("findings", refused.Output).Msg("main does not take the work")
		u.unmerged = "Main did not take it:\n\n" + indent(refused.Output)
		return nil
	}
	return err
}

// openUnit finds the directive's present unit, or makes the next one where the
// rules let the agent do so (UOW-2). nil is nothing to do.
func (j *job) openUnit(ctx context.Context) (*unit, error) {
	journals, err := j.store.Journals(ctx, j.directive.Name())
	if err != nil {
		return nil, err
	}
	u := &unit{job: j}
	id := uow.ID{Directive: j.directive.Name(), K: 1}
	if n := len(journals); n > 0 {
		u.journal, u.before = journals[n-1], journals[:n-1]
		last := u.journal.Last()
		id.K = u.journal.ID.K + 1
		if !last.State.Ended() && last.DirectiveHash != j.directive.Hash() && last.State == uow.Active {
			if err := u.step(ctx, uow.Input{Event: uow.Fail, Reason: "DIRECTIVE_CHANGED"}); err != nil {
				return nil, err
			}
			last = u.journal.Last()
		}
		if !last.State.Ended() || last.DirectiveHash == j.directive.Hash() {
			u.declare()
			return u, nil
		}
		u.before = journals
	}
	u.journal = j.store.NewJournal(id)
	u.declare()
	reason := uow.Reason("DIRECTIVE_OPEN")
	if id.K > 1 {
		reason = uow.DirectiveEdited
	}
	return u, u.step(ctx, uow.Input{Event: uow.Open, Reason: reason})
}

func (u *unit) declare() {
	u.declaration, u.limits, _ = loop.Declare(u.journal.ID.String(), u.directive, loop.Base(u.Config.Loop))
}

// world is what main says now (see uow.World).
func (u *unit) world(ctx context.Context) (uow.World, error) {
	main, err := u.store.Look(ctx)
	if err != nil {
		return uow.World{}, err
	}
	_, doc, err := main.Comms(ctx)
	if err != nil {
		return uow.World{}, err
	}
	m, err := state.ReadMain(main.Files(ctx), main.Commit, doc.Directive(u.directive.Name()), loop.Base(u.Config.Loop))
	if err != nil {
		return uow.World{}, err
	}
	w := uow.World{Main: m}
	var all [][]*uow.Record
	for _, b := range u.before {
		all = append(all, b.Records)
		w.Last = b.Last()
	}
	m.Spent = uow.Spent(m.DirectiveHash, append(all, u.journal.Records)...)
	return w, nil
}

// step appends to the unit's journal. What the rules do not admit suspends.
func (u *unit) step(ctx context.Context, in uow.Input) error {
	world, err := u.world(ctx)
	if err != nil {
		return err
	}
	in.Actor, in.Time = uow.Agent, time.Now()
	err = u.journal.Append(ctx, in, world)
	if refused := stop.As(err, stop.Refused); refused != nil {
		return stop.New(stop.Suspended, "the unit %s takes no %s: %s", u.journal.ID, in.Event, refused.Output)
	}
	if err == nil {
		last := u.journal.Last()
		u.log.Info().Str("unit", last.ID).Str("event", string(last.Event)).Str("state", string(last.State)).Msg("unit of work")
	}
	return err
}

// activate makes the unit ACTIVE where the agent may: a new one, one whose
// directive the PM edited, and one that failed for a passing reason, a bounded
// number of times.
func (u *unit) activate(ctx context.Context) error {
	last := u.journal.Last()
	edited := last.DirectiveHash != u.directive.Hash()
	switch {
	case last.State == uow.Active:
		return nil
	case last.State == uow.Pending:
		return u.step(ctx, uow.Input{Event: uow.Activate, Reason: "WORK_STARTED"})
	case last.State == uow.PendingApproval && edited:
		return u.step(ctx, uow.Input{Event: uow.Approve, Reason: uow.DirectiveEdited})
	case last.State == uow.ZombiedSoft && edited:
		return u.step(ctx, uow.Input{Event: uow.Clarify, Reason: uow.DirectiveEdited, Note: "the directive was edited"})
	case last.State == uow.ZombiedSoft && passing(last.ReasonCode) && last.Retries < last.Policy.MaxRetries:
		return u.step(ctx, uow.Input{Event: uow.Retry, Reason: "RETRY_POLICY"})
	case last.State == uow.ZombiedSoft && passing(last.ReasonCode):
		return u.step(ctx, uow.Input{Event: uow.Exhaust, Reason: "RETRIES_SPENT"})
	}
	return stop.New(stop.Suspended, "the unit is %s; git ward uow show %s says what it waits for", last.State, last.ID)
}

// mayGoOn tells a unit that somebody made ACTIVE again, or that the policy's retry
// is due for, from one that waits.
func mayGoOn(last *uow.Record, pause time.Duration) bool {
	switch last.State {
	case uow.Active, uow.Pending:
		return true
	case uow.ZombiedSoft:
		at, err := time.Parse(time.RFC3339, last.Time)
		return passing(last.ReasonCode) && err == nil && time.Since(at) >= pause
	}
	return false
}

// passing tells reasons that may be gone by the next pass.
func passing(r uow.Reason) bool {
	return r == "BACKPRESSURE" || r == "VERDICT_TIMEOUT"
}

// loop runs the bounded loop in the directive's clone.
func (u *unit) loop(ctx context.Context) (cycle.End, error) {
	log, err := activity.Open(filepath.Join(u.State, "logs"))
	if err != nil {
		return cycle.End{}, err
	}
	log.Redact = u.Redact
	commands := len(u.declaration.Commands) + 2
	patience := time.Duration(3*commands)*u.Config.Verify.Timeout.Duration + time.Minute
	l := &cycle.Loop{
		Work: u.work, Journal: u.journal, World: u.world, Declaration: u.declaration, Limits: u.limits,
		Verdict: func(ctx context.Context, commit, claim string) (*loop.Verdict, error) {
			return u.store.AwaitVerdict(ctx, commit, claim, u.patience(min(patience, u.Config.Agent.VerdictPatience.Duration)))
		},
		Subagents: &cycle.Subagents{}, Over: u.overdue, Signals: u.signals, Refusals: u.Config.Agent.Refusals,
		Activity: log, Log: u.log, Now: time.Now,
	}
	l.Team = func(ctx context.Context) (cycle.Team, error) {
		team, err := u.newTeam(ctx, l.Subagents)
		if err == nil && u.Start.onBranch() {
			return started{team}, nil
		}
		return team, err
	}
	return l.Run(ctx)
}
