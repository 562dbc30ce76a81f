// Package cycle takes one unit of work through the bounded loop (seed 003):
// capsule, work, claim, the host's verdict, learnings, and the one
// decision at the budget check, until an exit.
//
// The machine of protocols/loop decides which state comes next. Each state has one handler here, which
// returns an event. Every transition is logged, and after each one the detectors of 003's forbidden
// states examine the refs.
//
// Between two pushes, all state is in refs: the unit's journal and record, the work's branch, the host's
// notes. A process that was killed and started again computes its state from these. An iteration that
// was begun is not begun, and not paid for, a second time.
//
// An iteration makes two pushes. The first has the end of the previous iteration, the journal's step that
// begins this one, and its capsule. The second has the work, the list of its artifacts on the record, and
// the claim.
package cycle

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"git-ward/agent/activity"
	"git-ward/agent/interaction"
	"git-ward/agent/store"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// Loop is what the loop of one unit of work depends on.
type Loop struct {
	Unit        Unit
	Work        *store.Work
	Journal     *store.Journal
	Declaration loop.Declaration
	Limits      loop.Limits
	Refusals    int // how often a refused push goes back to the Solver

	Lost interaction.Sign // what a killed run has used of the iteration in progress

	Activity *activity.Log     // gets every transition; nil for none
	Live     *interaction.Live // likewise, and the current iteration
	Log      zerolog.Logger
	Now      func() time.Time
}

// Unit is the unit of work as its worker sees it.
type Unit interface {
	// Team is called once, before the first subagent. The team reports each subagent that begins to told.
	Team(ctx context.Context, told *Subagents) (Team, error)
	// World is main's current state.
	World(ctx context.Context) (uow.World, error)
	// Verdict waits for the host's verdict on a claim; nil if none comes in time.
	Verdict(ctx context.Context, commit, claim string) (*loop.Verdict, error)
	// Signals lists the present stop signals (LOOP-9).
	Signals(ctx context.Context) []loop.Signal
	// Over returns why this run may do no more work, "" if it may.
	Over() string
	// Limit names the limit of the spent budget, a key of the directive or a host setting; ""
	// if unknown.
	Limit(ctx context.Context) string
	// Words is the transcript of an earlier, killed run, "" for none.
	Words() string
	// Note is for the journal's next step without words of its own, "" for none.
	Note() string
	// Noted says that a step of the journal has the Note.
	Noted()
}

// End is the end of a loop.
type End struct {
	Report *loop.Report // already committed to the record
	Calls  int          // tool calls that no journal step has counted yet
	Note   string       // a note that no journal step has yet
	Block  uow.Reason   // the journal's reason of an EXIT_BLOCKED, "" for the default
	// Again rewrites the evidence of the end without the models' text, if the remote refuses
	// it with the journal's step; nil if an earlier run has pushed it.
	Again func(ctx context.Context) error
}

// Run continues the loop until its exit. The unit must be ACTIVE and have a record. Run commits the end's
// evidence to the record; the caller pushes it with the journal's step that it makes of the report. The
// error is stop.Suspended if the agent may not continue the unit now. After any other error, the next Run
// continues from the refs.
func (l *Loop) Run(ctx context.Context) (End, error) {
	if report, err := ReadReport(ctx, l.Work, l.Journal); report != nil || err != nil {
		return End{Report: report}, err
	}
	r := &run{deps: l}
	l.Live.At(l.Journal.ID.String(), l.Journal.Last().Iteration)
	if err := r.enter(ctx); err != nil {
		return End{}, err
	}
	return r.drive(ctx)
}
