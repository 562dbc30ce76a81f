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

// Waits says what a unit waits for, as its journal has it. Whether its directive was edited
// since, and what else is known of that, stands in review.Stand.
func (r *Record) Waits() Waiting {
	verb := func(verb Event) string { return "git ward uow " + verb.Typed() + " " + r.ID }
	switch r.State {
	case Pending:
		return Waiting{ForAgent, "which begins it", ""}
	case Active:
		if r.PulseDue() {
			return Waiting{ForYou, "a sign of yours is due", verb(Heartbeat)}
		}
		return Waiting{ForAgent, "which is at work", ""}
	case PendingApproval:
		return r.asks(verb)
	case Paused:
		return Waiting{ForYou, "it is paused", verb(Resume)}
	case ZombiedSoft:
		return r.blocked(verb)
	case ZombiedDead:
		return Waiting{ForYou, "it is a dead letter; your last word on it", verb(Confirm)}
	case Breached:
		return Waiting{ForYou, "somebody changed its journal; when you have looked", verb(Confirm)}
	case Completed, Failed, Refinement:
		return Waiting{ForAgent, "which closes it", ""}
	}
	return Waiting{ForNobody, "it is over", ""}
}

// asks is what a unit waits for that asked.
func (r *Record) asks(verb func(Event) string) Waiting {
	switch r.ReasonCode {
	case PulseIsDue:
		return Waiting{ForYou, "a sign of yours is due", verb(Heartbeat)}
	case Question:
		return Waiting{ForYou, "it asks you something", verb(Approve)}
	case NotIncluded:
		return Waiting{ForYou, "its claim passes only by your word (git ward review shows what it is about); to give it", "git ward include " + r.Directive}
	case NeedInfo:
		return Waiting{ForYou, "its directive does not say how its end is seen, such as by a criterion with a command", "git ward directive edit " + r.Directive}
	}
	return Waiting{ForYou, "it wants your word before it goes on", verb(Approve)}
}

// blocked is what a unit waits for that something stopped.
func (r *Record) blocked(verb func(Event) string) Waiting {
	switch {
	case r.ReasonCode == Stopped:
		return Waiting{ForCause, "the file scratch/STOP is there, and when it is gone it goes on by itself", "git pull --rebase && git rm scratch/STOP && git commit -m 'go on' scratch/STOP && git push"}
	case r.ReasonCode == Stale:
		return Waiting{ForAgent, "which takes it up again by itself", ""}
	case r.ReasonCode == ModelDenied:
		const why = "the model cannot be asked: mend its key file or id in [model] of config.toml and launch again; then"
		if r.RetriesSpent() {
			return Waiting{ForYou, why, verb(Waive)}
		}
		return Waiting{ForYou, why, verb(Retry)}
	case r.RetriesSpent():
		return Waiting{ForYou, "its retries are spent", verb(Waive)}
	case r.ReasonCode == TransientFailure:
		return Waiting{ForCause, "what it needs is out, and it is tried again by itself; at once", verb(Retry)}
	case r.ReasonCode.Passes():
		return Waiting{ForCause, "it is tried again by itself when that has passed; at once", verb(Retry)}
	}
	if r.ReasonCode == NotStarted {
		return Waiting{ForYou, "its program was certified and did not start", "git ward directive edit " + r.Directive}
	}
	if r.ReasonCode == NoTool {
		return Waiting{ForYou, "a program is missing where the commands ran; when it is there", verb(Retry)}
	}
	return Waiting{ForYou, "it is blocked: " + or(r.ReasonCode.Words(), "it does not say by what") + "; it wants a word of yours", verb(Clarify)}
}
