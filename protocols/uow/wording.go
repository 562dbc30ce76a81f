package uow

import "cmp"

// Words is a state in words for people. Journals, JSON and evidence have the form for
// programs.
func (s State) Words() string { return cmp.Or(stateWords[s], string(s)) }

var stateWords = map[State]string{
	Pending:         "not begun",
	Active:          "begun",
	PendingApproval: "asks for your word",
	Paused:          "paused",
	ZombiedSoft:     "blocked",
	ZombiedDead:     "given up",
	Completed:       "done",
	Failed:          "failed",
	Breached:        "its journal was changed",
	Refinement:      "looks back",
	Archived:        "archived",
}

// Words is where a unit stands, for people: what the PM cancelled did not fail.
func (r *Record) Words() string {
	if r.State == Failed && r.Event == Cancel {
		return "cancelled"
	}
	return r.State.Words()
}

// Words is what happened, for people, as the end of a sentence that begins with who did it.
func (e Event) Words() string { return cmp.Or(eventWords[e], string(e)) }

var eventWords = map[Event]string{
	Open:            "opened the unit",
	Fork:            "opened the next unit",
	Activate:        "began to work",
	Iterate:         "began an iteration",
	MakeClaim:       "claimed that it is done",
	Heartbeat:       "gave a sign",
	RequestApproval: "asked for a word",
	Approve:         "let it go on",
	Reject:          "ended it at its question",
	Pause:           "paused it",
	Resume:          "let it go on after the pause",
	Cancel:          "cancelled it",
	Confirm:         "had the last word: it failed",
	Block:           "was stopped",
	Condemn:         "gave up at once",
	Retry:           "tries again",
	Clarify:         "said what was unclear",
	Waive:           "let it try again beyond its retries",
	Deny:            "denied it another try",
	Exhaust:         "gave up",
	Complete:        "ended the work: it is done",
	Fail:            "ended the work: it failed",
	Refine:          "began to look back",
	Archive:         "put it away",
	Expire:          "dropped its record",
	Breach:          "found the journal changed",
}

// Words says for people why a step was made; "" for a reason that adds nothing to its event.
func (r Reason) Words() string { return reasonWords[r] }

var reasonWords = map[Reason]string{
	DirectiveEdited:        "the directive was edited",
	DirectiveGone:          "the directive is gone",
	"DIRECTIVE_CHANGED":    "the directive was edited meanwhile",
	FreshStart:             "from the project again",
	"NEW_ATTEMPT":          "a new attempt",
	"TEMPLATE_FIXED":       "what it begins from was mended",
	"SCOPE_CHANGED":        "the scope changed",
	NeedInfo:               "the directive does not say how its end is seen",
	NotIncluded:            "its claim passes only by your word",
	IncludedNow:            "you gave your word on its claim",
	Question:               "it has a question",
	"LOW_CONFIDENCE":       "it is not sure",
	"POLICY_BRANCH":        "the policy says so",
	PulseIsDue:             "the policy wants a sign of yours",
	"PULSE_APPROVED":       "approved",
	"QUESTION_ANSWERED":    "the question is answered",
	"OUT_OF_SCOPE":         "out of scope",
	"TOO_RISKY":            "too risky",
	"COST_REVIEW":          "to look at the cost",
	"MAINTENANCE":          "maintenance",
	"INCIDENT":             "an incident",
	"REVIEWED":             "reviewed",
	"NOT_NEEDED":           "not needed",
	"SUPERSEDED":           "something else takes its place",
	"AMBIGUITY_LOCK":       "something is unclear to it",
	"LOOP_BLOCKED":         "it does not know how to go on",
	NoTool:                 "a program is missing where the commands run",
	NotStarted:             "its certified program did not start",
	Backpressure:           "somebody holds it back",
	VerdictTimeout:         "no verdict came in time",
	Trouble:                "the agent itself failed twice",
	TransientFailure:       "what it needs from outside is out",
	ModelDenied:            "the model refuses the key or may not be asked, or the worker's program is in trouble",
	ProgramKilled:          "its program was killed",
	Stopped:                "the file scratch/STOP is there",
	Stale:                  "no sign of the agent for long",
	CauseGone:              "what stopped it is gone",
	"NOT_WORTH_IT":         "not worth it",
	"RETRIES_SPENT":        "its retries are spent",
	"BREACH_CONFIRMED":     "the breach is confirmed",
	"LOOP_CONVERGED":       "the verdict says so",
	"LOOP_DIVERGED":        "it got worse three times in a row",
	"LOOP_BUDGET_EXCEEDED": "the budget is spent",
	"ANALYSIS_WAIVED":      "nobody needs to look back",
	"RETENTION_OVER":       "it was kept long enough",
	"SPACE_NEEDED":         "for the space",
	HashMismatch:           "a record is not what was written",
	PrevMismatch:           "a record does not follow the one before it",
}

// Words names the actor for people.
func (a Actor) Words() string {
	return cmp.Or(map[Actor]string{Agent: "the agent", PM: "the PM", Host: "the host"}[a], string(a))
}
