// Package cycle takes one unit of work through the bounded loop (seed 003):
// capsule, work, claim, the host's verdict, learnings, and the one
// decision at the budget check, until an exit.
//
// The machine of protocols/loop says which state comes next. Each state has one
// handler here, which returns the event that it came to; every transition is
// logged, and after each one the detectors of 003's forbidden states look at what
// is really there.
//
// It keeps nothing between two pushes that is not in refs: the unit's journal and its
// record, the work's branch, the host's notes. Killed anywhere and run again it enters
// the machine where these say that it is; an iteration that was begun is not begun,
// and not paid for, a second time.
//
// An iteration is two pushes. The first has the end of the iteration before, the step
// of the journal that begins this one, and its capsule. The second has the work, the
// list of it on the record, and the claim.
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
	// Team is asked for once, before the first subagent. It tells of each subagent that begins.
	Team(ctx context.Context, told *Subagents) (Team, error)
	// World is main's current state.
	World(ctx context.Context) (uow.World, error)
	// Verdict waits for the host's verdict on a claim; nil if none comes in time.
	Verdict(ctx context.Context, commit, claim string) (*loop.Verdict, error)
	// Signals are what says stop (LOOP-9).
	Signals(ctx context.Context) []loop.Signal
	// Over is why no more work may be done in this run, "" while it may.
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
	Report *loop.Report // on the record by then
	Calls  int          // calls of tools that are in no journal step yet
	Note   string       // that none has yet
	Block  uow.Reason   // of an EXIT_BLOCKED where the journal's rules name one, "" for the plain one
	// Again rewrites the evidence of the end without the models' text, if the remote refuses
	// it with the journal's step; nil if an earlier run has pushed it.
	Again func(ctx context.Context) error
}

// Run goes on with the loop until its exit. The unit is ACTIVE when it starts, and its
// record begun. What the end leaves is committed there, and moves to the remote with the
// journal's step that the caller makes of the report. The error is stop.Suspended where the unit is not the agent's to go on with now; any
// other is trouble, and the next Run goes on from there.
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
