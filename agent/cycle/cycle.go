// Package cycle takes one unit of work through the bounded loop (seed 003, SPEC
// section 9): capsule, work, claim, the host's verdict, learnings, and the one
// decision at the budget check, until an exit.
//
// It keeps nothing between two steps that is not in refs: the unit's journal, the
// evidence on the branch, the host's notes. Killed anywhere and run again it goes
// on from there; an iteration that was begun is not begun, and not paid for, a
// second time.
package cycle

import (
	"context"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"git-ward/agent/stop"
	"git-ward/agent/store"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// Team is who works in an iteration, one after the other, each with a fresh
// context: all that they know is the brief (LOOP-8).
type Team interface {
	// Solve does the iteration's work in the branch's working tree. The refusal is
	// "" at first, and later why the push of the work was refused. Words are its
	// last ones; calls are its uses of tools. The error is stop.Unfinished,
	// Spent or Blocked when it did not come to an end of its own.
	Solve(ctx context.Context, b Brief, refusal string) (words string, calls int, err error)
	// Review is the Skeptic: it types what the iteration taught. What it returns is
	// checked before anything is written.
	Review(ctx context.Context, b Brief, r Result) (Review, int, error)
}

// Brief is all that a subagent is told.
type Brief struct {
	Iteration   int
	Capsule     []byte // canonical JSON
	CapsulePath string // in the repository
}

// Result is what an iteration came to, for its review.
type Result struct {
	Words   string // the Solver's last ones: a guess until verified
	Changes []store.Change
	Verdict *loop.Verdict // nil when there is none
}

// Review is what the Skeptic says of an iteration.
type Review struct {
	Tried     []string        `json:"tried"`
	Succeeded []loop.Learning `json:"succeeded"`
	Failed    []loop.Learning `json:"failed"`
	Open      []string        `json:"open"`
	Diagnosis string          `json:"diagnosis"`
	// What the policy's branches look at (UOW-3); "" for nothing.
	Outcome    string `json:"outcome"`
	Confidence string `json:"confidence"` // decimal
}

// Loop is one unit's loop.
type Loop struct {
	Work        *store.Work
	Journal     *store.Journal
	World       func(ctx context.Context) (uow.World, error) // what main says now
	Verdict     func(ctx context.Context, commit, claim string) (*loop.Verdict, error)
	Directive   comms.Directive
	Declaration loop.Declaration
	Limits      loop.Limits
	Team        Team
	Signals     func(ctx context.Context) []loop.Signal
	Over        func() string // why no more work may be done in this run, "" while it may
	Refusals    int           // how often a refused push goes back to the Solver
	Log         zerolog.Logger
	Now         func() time.Time

	// Block is the reason code for an EXIT_BLOCKED of this run, "" for the plain one.
	Block uow.Reason

	state
}

// state is what is read from the branch at the start, and kept in step with it.
type state struct {
	offset   int // iterations of earlier units on this branch
	certs    []loop.Certificate
	budget   loop.BudgetLog
	manifest loop.Artifacts
	calls    int // uses of tools since the last record of the journal
	used     int // uses of tools in this iteration
	began    time.Time
	over     string // why the budget is spent, where Limits do not say so; "" while it is not
	review   Review // of the last iteration of this run

	halted   loop.Decision // of a stop.Halted, and in which state it was made
	haltedIn loop.State
}

// count notes uses of tools.
func (l *Loop) count(calls int) {
	l.calls += calls
	l.used += calls
}

// Run goes on with the loop and returns its halting report, which is on the
// branch by then. The unit is ACTIVE when it starts.
func (l *Loop) Run(ctx context.Context) (*loop.Report, error) {
	if report, err := l.ReadReport(ctx); report != nil || err != nil {
		return report, err
	}
	if err := l.restore(ctx); err != nil {
		return nil, err
	}
	if err := l.declare(ctx); err != nil {
		return nil, err
	}
	for {
		decision, err := l.next(ctx)
		if err != nil {
			return nil, err
		}
		if decision.Status != "" {
			return l.exit(ctx, decision, loop.BudgetCheck, "")
		}
		err = l.iterate(ctx)
		if err == nil {
			if ask, needs := l.certs[len(l.certs)-1].Ask(); needs { // not on resuming: the directive is another by then
				return l.exit(ctx, ask, loop.BudgetCheck, "")
			}
			err = l.branch(ctx)
		}
		if err != nil {
			if halted := stop.As(err, stop.Halted); halted != nil {
				return l.exit(ctx, l.halted, l.haltedIn, halted.Why)
			}
			return nil, err
		}
	}
}

// branch follows the policy where the review's outcome, or its lack of confidence,
// leads out of ACTIVE; a verdict that ends the loop comes first.
func (l *Loop) branch(ctx context.Context) error {
	review := l.review
	l.review.Outcome, l.review.Confidence = "", ""
	event, leads := l.Journal.Last().Policy.Branch(review.Outcome, review.Confidence)
	last := l.certs[len(l.certs)-1]
	if !leads || last.Type == loop.Exact || last.Type == loop.Converged || last.Type == loop.Diverged {
		return nil
	}
	reason := uow.Reason("POLICY_BRANCH")
	if event == uow.RequestApproval && review.Outcome == "" {
		reason = "LOW_CONFIDENCE"
	}
	if err := l.step(ctx, uow.Input{Event: event, Reason: reason, Note: short(review.Outcome + " " + review.Diagnosis)}); err != nil {
		return err
	}
	return stop.New(stop.Suspended, "the policy leads from the outcome %q to %s", review.Outcome, l.Journal.Last().State)
}

// next is the decision before an iteration: what the last one's certificate comes
// to, or backpressure before the first.
func (l *Loop) next(ctx context.Context) (loop.Decision, error) {
	if l.inProgress() {
		return loop.Decision{}, nil
	}
	signals := l.Signals(ctx)
	if len(l.certs) == 0 {
		if len(signals) > 0 {
			return loop.Decision{Event: loop.Backpressure, Status: loop.ExitBlocked, Reason: loop.BackpressureSignal, Words: signals[0].Words()}, nil
		}
		if over := l.overspent(); over != "" { // nothing is begun, so nothing has to end
			return loop.Decision{}, stop.New(stop.Suspended, "%s", over)
		}
		if d, spent := l.findings(0, nil, nil).Budget(); spent {
			return d, nil
		}
		return loop.Decision{}, nil
	}
	last := l.certs[len(l.certs)-1]
	learnings, err := l.Work.File(ctx, loop.LearningsPath)
	if err != nil {
		return loop.Decision{}, err
	}
	return loop.Decide(loop.Check{
		Findings:    l.findings(last.Iteration, nil, signals),
		Certificate: last,
		Written:     loop.HasEntry(string(learnings), l.Declaration.LoopID, last.Iteration),
	}), nil
}

// inProgress reports whether an iteration was begun in the journal and has no
// certificate yet.
func (l *Loop) inProgress() bool { return int(l.Journal.Last().Iteration) > len(l.certs) }

// overspent is why the budget is spent where Limits do not say so: a Solver was
// not paid for any more, or the run's time is over.
func (l *Loop) overspent() string {
	if l.over == "" {
		l.over = l.Over()
	}
	return l.over
}

// spent is how many iterations the directive's text has used, in all its units.
func (l *Loop) spent() int { return int(l.Journal.Last().Budget.Spent.Iterations) }

func (l *Loop) findings(iteration int, v *loop.Verdict, signals []loop.Signal) loop.Findings {
	f := loop.Findings{Declaration: l.Declaration, Limits: l.Limits, Iteration: iteration, Spent: l.spent(), Used: l.budget.Used(), Verdict: v, Signals: signals, Over: l.overspent()}
	for _, c := range l.certs {
		if c.Iteration < iteration {
			f.History = append(f.History, c.Residual)
		}
	}
	return f
}

// halt ends the loop in the middle of an iteration.
func (l *Loop) halt(in loop.State, d loop.Decision) error {
	l.halted, l.haltedIn = d, in
	return stop.New(stop.Halted, "%s", d.Words)
}

// step appends to the journal, with the calls since the last record. What the
// rules do not admit ends the loop, or suspends it where that is for somebody
// else to change.
func (l *Loop) step(ctx context.Context, in uow.Input) error {
	world, err := l.World(ctx)
	if err != nil {
		return err
	}
	in.Actor, in.Time, in.Interactions = uow.Agent, l.Now(), int64(l.calls)
	err = l.Journal.Append(ctx, in, world)
	if refused := stop.As(err, stop.Refused); refused != nil {
		return l.inadmissible(in.Event, refused)
	}
	if err == nil {
		l.calls = 0
	}
	return err
}

func (l *Loop) inadmissible(event uow.Event, refused *stop.Stop) error {
	why := fmt.Sprintf("the unit %s takes no %s: %s", l.Journal.ID, event, refused.Output)
	for _, f := range refused.Findings {
		switch f.Rule {
		case "uow/budget":
			return l.halt(loop.SpawnSubagent, loop.Decision{Event: loop.BudgetExhausted, Status: loop.ExitBudgetExceeded, Reason: loop.MaxIters, Words: why})
		case "uow/ambiguity":
			l.Block = "AMBIGUITY_LOCK"
			return l.broken(loop.SpawnSubagent, why)
		}
	}
	return stop.New(stop.Suspended, "%s", why)
}
