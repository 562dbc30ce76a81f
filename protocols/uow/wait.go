package uow

// Waiting says for whom a unit, or its directive, waits, why, and what moves it (WORK-2). No
// state is without an answer.
type Waiting struct {
	For     Party
	Why     string // a few words, in those that a PM uses
	Command string // the one command by which a PM moves it on; "" where nothing is to be typed
	Cause   Cause  // the row of the table that the words are
}

// Party has the next move: one of these, or the directives that come first.
type Party string

// The parties.
const (
	ForYou    Party = "you"       // a PM
	ForAgent  Party = "the agent" // which is at work, or starts by itself
	ForHost   Party = "the host"  // its verdict
	ForCause  Party = "the cause" // the cause to pass: then the agent continues by itself
	ForNobody Party = "nobody"    // it is over
)

// String is the answer on one line.
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

// Next is the one command by which a PM moves a unit that does not go on by itself, or
// not at once; "" where nothing is to be typed. The report in COMMS.md, `git ward uow
// show`, `git ward status` and `git ward review` all name this one.
func (r *Record) Next() string { return r.Waits().Command }

// Waits is for whom a unit waits on the text of its directive that it has. Whether that was edited
// since, and what else is known of the directive, stands in review.Stand.
func (r *Record) Waits() Waiting { return r.Stand(false, true).Waiting }

// Stand is where a unit stands: who has the next move, and by what step who works on it goes on. It
// is the only answer to that. The schedule adds the clock to it, who works takes its step, and people
// read its words.
type Stand struct {
	Waiting
	When When
	By   Input // the agent's step; one without an event where none is needed first
}

// When says when the agent continues a unit.
type When int

// The conditions for continuing.
const (
	AtOnce When = iota // nothing
	Later              // some time since the last step
	OnWord             // somebody's word, or the removal of a file
	Never              // it does not continue
)

// Stand is where a unit stands, whose directive's text may have been edited, while scratch/STOP may
// stop it. An edit is the PM's word: the agent goes on by itself with what asked or was stopped, and
// what ended is behind; but a pause stays one.
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

// Started is the step to work of a unit that waits for nobody.
var Started = Input{Event: Activate, Reason: "WORK_STARTED"}

// onEdited is the agent's step in a unit of an earlier text: an active unit ends, and the next
// one begins.
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

// says is the sentence of a cause about this unit.
func (r *Record) says(c Cause) Waiting {
	what := r.ReasonCode.Words()
	if c == AdminMends || c == AdminMendsStill {
		what += ", until " + r.ReasonCode.Mend(r.ID)
	}
	return c.Waiting(r.Directive, r.ID, what)
}

func (r *Record) atOnce(c Cause, by Input) Stand { return Stand{r.says(c), AtOnce, by} }

func (r *Record) onWord(c Cause) Stand { return Stand{Waiting: r.says(c), When: OnWord} }

// asks is why a unit that asked waits.
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

// blocked says whom a blocked unit waits for. One that failed for a passing reason continues a
// bounded number of times; one that scratch/STOP stopped continues when that file is nowhere
// any more. An abandoned one is taken up even with scratch/STOP there, so that its worker
// reports the stop.
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
