package uow

// Waiting says who has the next move on a unit or directive, why, and by which command (WORK-2). Every
// state has an answer.
type Waiting struct {
	For     Party
	Why     string // a few words, in those that a PM uses
	Command string // the command by which a PM makes the move; "" for none
	Cause   Cause  // the row of the table with the words
}

// Party is who has the next move: one of these, or the names of directives that must be closed first.
type Party string

// The parties.
const (
	ForYou    Party = "you"       // a PM
	ForAgent  Party = "the agent" // it works, or starts by itself
	ForHost   Party = "the host"  // a verdict is due
	ForCause  Party = "the cause" // the agent continues by itself after the cause has passed
	ForNobody Party = "nobody"    // it is over
)

// String returns all of it on one line.
func (w Waiting) String() string {
	s := string(w.For)
	if w.Why != "" {
		s += ", " + w.Why
	}
	if w.Command != "" {
		s += ": " + w.Command
	}
	return s
}

// Next returns the command by which a PM continues a unit that does not continue by itself, or not at
// once; "" for none. The report in COMMS.md, `git ward uow show`, `git ward status` and `git ward
// review` all show this command.
func (r *Record) Next() string { return r.Waits().Command }

// Waits returns what a unit waits for if its directive was not edited. review.Stand also considers edits
// and the directive's other facts.
func (r *Record) Waits() Waiting { return r.Stand(false, true).Waiting }

// Stand is the state of a unit for those who act on it: who has the next move, when the agent continues,
// and by which step. Nothing else decides this. The schedule adds the clock, the worker makes the step,
// and people read the words.
type Stand struct {
	Waiting
	When When
	By   Input // the agent's step; its Event is "" if none is needed
}

// When says when the agent continues a unit.
type When int

// The conditions for continuing.
const (
	AtOnce When = iota // nothing
	Later              // after a pause since the last step
	OnWord             // after a person's command, or the removal of a file
	Never              // it does not continue
)

// Stand returns the unit's Stand. edited says that the directive's text has changed since the unit began,
// stop that scratch/STOP exists. An edit counts as the PM's answer: the agent then continues a unit that
// asked or was stopped, and an ended unit no longer matters. A paused unit stays paused.
func (r *Record) Stand(edited, stop bool) Stand {
	switch {
	case r.State == Paused:
		return r.onWord(PausedByPM)
	case edited && r.State.Ended():
		return Stand{Waiting: r.says(IsOver), When: Never}
	case edited:
		return r.atOnce(WasEdited, r.onEdited())
	}
	switch r.State {
	case Pending:
		return r.atOnce(NotBegun, Started)
	case Active:
		if r.PulseDue() {
			return r.onWord(SignIsDue)
		}
		return r.atOnce(WasBegun, Input{})
	case PendingApproval:
		return r.onWord(r.asks())
	case ZombiedSoft:
		return r.blocked(stop)
	case ZombiedDead:
		return r.onWord(GivenUp)
	case Breached:
		return r.onWord(JournalChanged)
	case Completed, Failed, Refinement:
		return r.atOnce(Closes, Input{})
	}
	return Stand{Waiting: r.says(IsOver), When: Never}
}

// Started is the step by which work on a new unit begins.
var Started = Input{Event: Activate, Reason: "WORK_STARTED"}

// onEdited returns the agent's step in a unit of an earlier text: an active unit is ended, so that the
// next one can begin.
func (r *Record) onEdited() Input {
	switch r.State {
	case Pending:
		return Started
	case PendingApproval:
		return Input{Event: Approve, Reason: DirectiveEdited}
	case ZombiedSoft:
		return Input{Event: Clarify, Reason: DirectiveEdited, Note: "the directive was edited"}
	}
	return Input{Event: Fail, Reason: DirectiveChanged}
}

// says returns the sentence of a cause about this unit.
func (r *Record) says(c Cause) Waiting {
	what := r.ReasonCode.Words()
	if c == AdminMends || c == AdminMendsStill {
		what += ", until " + r.ReasonCode.Mend(r.ID)
	}
	return c.Waiting(r.Directive, r.ID, what)
}

func (r *Record) atOnce(c Cause, by Input) Stand { return Stand{r.says(c), AtOnce, by} }

func (r *Record) onWord(c Cause) Stand { return Stand{Waiting: r.says(c), When: OnWord} }

// asks returns why a unit in PENDING_PILOT_APPROVAL waits.
func (r *Record) asks() Cause {
	switch r.ReasonCode {
	case PulseIsDue:
		return SignIsDue
	case Question:
		return HasQuestion
	case NotIncluded:
		return WantsInclude
	case NeedInfo:
		return NoCriterion
	}
	return WantsApproval
}

// blocked returns the Stand of a blocked unit. One that failed for a passing reason is retried a bounded
// number of times. One that scratch/STOP stopped continues after the file is gone. An abandoned one is
// resumed even if scratch/STOP exists, so that its worker reports the stop.
func (r *Record) blocked(stop bool) Stand {
	spent := r.RetriesSpent()
	pause := func(c Cause) Stand {
		return Stand{r.says(c), Later, Input{Event: Retry, Reason: "RETRY_POLICY"}}
	}
	switch reason := r.ReasonCode; {
	case reason == Stopped && stop:
		return r.onWord(StoppedByFile)
	case reason.Free():
		return r.atOnce(ResumesNow, Input{Event: Retry, Reason: CauseGone})
	case !reason.Passes() && reason.By() == ByAdmin && spent:
		return r.onWord(AdminMendsStill)
	case !reason.Passes() && reason.By() == ByAdmin:
		return r.onWord(AdminMends)
	case spent && reason.Passes() && reason != TransientFailure:
		return r.atOnce(GivesUp, Input{Event: Exhaust, Reason: "RETRIES_SPENT"})
	case spent:
		return r.onWord(RetriesAreSpent)
	case reason == TransientFailure:
		return pause(ServiceIsOut)
	case reason.Passes():
		return pause(RetriesLater)
	case reason == NotStarted:
		return r.onWord(DoesNotStart)
	case r.Budget.Total.Iterations > 0 && r.Budget.Left().Iterations == 0: // with the PM's words it would only end
		return r.onWord(NoIterationLeft)
	case reason.Words() == "":
		return r.onWord(IsBlockedMute)
	}
	return r.onWord(IsBlocked)
}
