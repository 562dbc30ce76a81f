package uow

// Waiting says for whom a unit, or its directive, waits, why, and what moves it (WORK-2). No
// state is without an answer.
type Waiting struct {
	For     Party
	Why     string // a few words, in those that a PM uses
	Command string // the one command by which a PM moves it on; "" where nothing is to be typed
}

// Party is who has the next move: one of these, or the directives that come before it.
type Party string

// The parties.
const (
	ForYou    Party = "you"       // a PM
	ForAgent  Party = "the agent" // which is at work, or takes it up by itself
	ForHost   Party = "the host"  // its verdict
	ForCause  Party = "the cause" // of what stopped it, to pass: the agent goes on by itself then
	ForNobody Party = "nobody"    // it is over
)

// String is the answer in one line.
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

// When is when the agent goes on with a unit.
type When int

// What has to come first.
const (
	AtOnce When = iota // nothing
	Later              // some time since the last step
	OnWord             // a word of somebody's, or that a file goes
	Never              // it does not go on
)

// Stand is where a unit stands, whose directive's text may have been edited, while scratch/STOP may
// stop it. An edit is the PM's word: the agent goes on by itself with what asked or was stopped, and
// what ended is behind; but a pause stays one.
func (r *Record) Stand(edited, stop bool) Stand {
	you := func(why string, verb Event) Stand { return word(ForYou, why, r.typed(verb)) }
	switch {
	case r.State == Paused:
		return you("it is paused", Resume)
	case edited && r.State.Ended():
		return Stand{Waiting: Waiting{For: ForNobody, Why: "it is over"}, When: Never}
	case edited:
		return now("which takes up the directive as it was edited", r.onEdited())
	}
	switch r.State {
	case Pending:
		return now("which begins it", Started)
	case Active:
		if r.PulseDue() {
			return you("a sign of yours is due", Heartbeat)
		}
		return now("which is at work", Input{})
	case PendingApproval:
		return r.asks()
	case ZombiedSoft:
		return r.blocked(stop)
	case ZombiedDead:
		return you("it is a dead letter; your last word on it", Confirm)
	case Breached:
		return you("somebody changed its journal; when you have looked", Confirm)
	case Completed, Failed, Refinement:
		return now("which closes it", Input{})
	}
	return Stand{Waiting: Waiting{For: ForNobody, Why: "it is over"}, When: Never}
}

// Started is the step to work of a unit that waits for nobody.
var Started = Input{Event: Activate, Reason: "WORK_STARTED"}

// onEdited is the agent's step in a unit of an earlier text: one that was at work ends, and the next
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

func now(why string, by Input) Stand { return Stand{Waiting{For: ForAgent, Why: why}, AtOnce, by} }

func word(party Party, why, command string) Stand {
	return Stand{Waiting: Waiting{party, why, command}, When: OnWord}
}

// typed is a PM's verb on the unit.
func (r *Record) typed(verb Event) string { return "git ward uow " + verb.Typed() + " " + r.ID }

// asks is where a unit stands that asked.
func (r *Record) asks() Stand {
	switch r.ReasonCode {
	case PulseIsDue:
		return word(ForYou, "a sign of yours is due", r.typed(Heartbeat))
	case Question:
		return word(ForYou, "it asks you something", r.typed(Approve))
	case NotIncluded:
		return word(ForYou, "its claim passes only by your word (git ward review shows what it is about); to give it", "git ward include "+r.Directive)
	case NeedInfo:
		return word(ForYou, "its directive does not say how its end is seen, such as by a criterion with a command", "git ward directive edit "+r.Directive)
	}
	return word(ForYou, "it wants your word before it goes on", r.typed(Approve))
}

// blocked is where a unit stands that something stopped: one that failed for a passing reason goes on
// a bounded number of times, one that scratch/STOP stopped when that is nowhere any more. One that was
// left is taken up with scratch/STOP there, too: who works on it says that it stops it.
func (r *Record) blocked(stop bool) Stand {
	again := Input{Event: Retry, Reason: "RETRY_POLICY"}
	spent := r.RetriesSpent()
	pause := func(why string) Stand { return Stand{Waiting{ForCause, why, r.typed(Retry)}, Later, again} }
	switch reason := r.ReasonCode; {
	case reason == Stopped && stop:
		return word(ForCause, "the file scratch/STOP is there, and when it is gone it goes on by itself", "git pull --rebase && git rm scratch/STOP && git commit -m 'go on' scratch/STOP && git push")
	case reason.Free():
		return now("which takes it up again by itself", Input{Event: Retry, Reason: CauseGone})
	case reason == ModelDenied:
		verb := Retry
		if spent {
			verb = Waive
		}
		return word(ForYou, "the model cannot be asked: the admin mends [model] of config.toml, as its key file, id or also, and launches again; then", r.typed(verb))
	case spent && reason.Passes() && reason != TransientFailure:
		return now("which gives it up: its retries are spent", Input{Event: Exhaust, Reason: "RETRIES_SPENT"})
	case spent:
		return word(ForYou, "its retries are spent", r.typed(Waive))
	case reason == TransientFailure:
		return pause("what it needs is out, and it is tried again by itself; at once")
	case reason.Passes():
		return pause("it is tried again by itself when that has passed; at once")
	case reason == NotStarted:
		return word(ForYou, "its program was certified and did not start", "git ward directive edit "+r.Directive)
	case reason == NoTool:
		return word(ForYou, "a program is missing where the commands ran; when it is there", r.typed(Retry))
	}
	return word(ForYou, "it is blocked: "+or(r.ReasonCode.Words(), "it does not say by what")+"; it wants a word of yours", r.typed(Clarify))
}
