package uow

import "slices"

// Reason is a reason code: it says why a step was made, for statistics and for people. Every
// record has one (UOW-4); free text goes into the record's note.
type Reason string

// reasons lists for each event the actors that may make it, with their codes. A test checks that each
// code is used: the agent's and the host's by their code, the PM's by a verb of git ward uow, whose
// default is the first code.
var reasons = map[Event]map[Actor][]Reason{
	Open:     {Agent: {"DIRECTIVE_OPEN", "DIRECTIVE_EDITED"}},
	Fork:     {PM: {"NEW_ATTEMPT", "TEMPLATE_FIXED", "SCOPE_CHANGED", FreshStart}},
	Activate: {Agent: {"WORK_STARTED"}},

	Iterate:   {Agent: {"ITERATION_STARTED"}},
	MakeClaim: {Agent: {"WORK_CLAIMED"}},
	Heartbeat: {PM: {"PULSE_ACKNOWLEDGED", "PULSE_APPROVED"}},

	RequestApproval: {Agent: {NeedInfo, NotIncluded, Question, "LOW_CONFIDENCE", "POLICY_BRANCH", PulseIsDue}},
	Approve:         {PM: {"APPROVED", "QUESTION_ANSWERED", IncludedNow}, Agent: {DirectiveEdited}},
	Reject:          {PM: {"REJECTED", "OUT_OF_SCOPE", "TOO_RISKY"}},

	Pause:  {PM: {"PILOT_HOLD", "COST_REVIEW", "MAINTENANCE", "INCIDENT"}},
	Resume: {PM: {"HOLD_LIFTED", "REVIEWED"}},
	Cancel: {PM: {"NOT_NEEDED", "SUPERSEDED", "OUT_OF_SCOPE", "TOO_RISKY", "INCIDENT"}},

	Block:   {Agent: {"AMBIGUITY_LOCK", "LOOP_BLOCKED", NoTool, NotStarted, Backpressure, VerdictTimeout, Trouble, TransientFailure, ModelDenied, ProgramKilled, Stopped, Stale, "POLICY_BRANCH"}},
	Condemn: {Agent: {"POLICY_BRANCH"}},
	Retry:   {Agent: {"RETRY_POLICY", CauseGone}, PM: {"RETRY_NOW"}},
	Clarify: {PM: {"CLARIFIED", "QUESTION_ANSWERED"}, Agent: {DirectiveEdited}},
	Waive:   {PM: {"WAIVED", "CAUSE_GONE"}},
	Deny:    {PM: {"WAIVER_DENIED", "NOT_WORTH_IT"}},
	Exhaust: {Agent: {"RETRIES_SPENT", DirectiveGone}},
	Confirm: {PM: {"FAILURE_CONFIRMED", "BREACH_CONFIRMED", "NOT_NEEDED", "SUPERSEDED", "OUT_OF_SCOPE", "TOO_RISKY", "INCIDENT"}},

	Complete: {Agent: {"LOOP_CONVERGED"}},
	Fail:     {Agent: {"LOOP_DIVERGED", "LOOP_BUDGET_EXCEEDED", DirectiveChanged, DirectiveGone, "POLICY_BRANCH"}},
	Refine:   {Agent: {"ANALYSIS_STARTED"}, PM: {"ANALYSIS_WAIVED"}},
	Archive:  {Agent: {"ANALYSIS_DONE"}, PM: {"ANALYSIS_DONE", "AUDIT_RETENTION"}},
	Expire:   {PM: {"RETENTION_OVER", "SPACE_NEEDED"}},
	Breach:   {Host: {HashMismatch, PrevMismatch}},
}

// The reason codes that decide something.
const (
	DirectiveEdited  Reason = "DIRECTIVE_EDITED"  // the edit counts as the PM's answer: the agent may continue
	DirectiveChanged Reason = "DIRECTIVE_CHANGED" // while it was worked on: its unit is ended, and the next one has the new text
	DirectiveGone    Reason = "DIRECTIVE_GONE"    // the control branch no longer lists it: its unit is ended
	FreshStart       Reason = "FRESH_START"       // of a fork: the work starts from the project, not from the earlier unit
	NeedInfo         Reason = "NEED_INFO"         // the directive has no criterion of its end
	NotIncluded      Reason = "NOT_INCLUDED"      // the claim passes only by the PM's word
	IncludedNow      Reason = "INCLUDED"          // the PM accepted it as work: the claim is judged again
	Question         Reason = "QUESTION"          // the worker asks the PM; the note is the question
	PulseIsDue       Reason = "PULSE_DUE"         // the policy requires a sign of the PM before the next interaction
	NotStarted       Reason = "NOT_STARTED"       // the agent's own program, certified, from its branch
	NoTool           Reason = "MISSING_TOOL"      // a command of the directive needs a missing program
	Backpressure     Reason = "BACKPRESSURE"
	VerdictTimeout   Reason = "VERDICT_TIMEOUT"
	Trouble          Reason = "AGENT_TROUBLE"     // the agent itself failed twice
	TransientFailure Reason = "TRANSIENT_FAILURE" // an outside service, such as a model, is out for now (WORK-4)
	ModelDenied      Reason = "MODEL_DENIED"      // the model or the program cannot be used with these settings: a wrong key, no such model, a wrong call
	ProgramKilled    Reason = "PROGRAM_KILLED"    // a signal ended the worker's program, such as for want of memory
	Stopped          Reason = "STOPPED"           // the file scratch/STOP is there
	Stale            Reason = "STALE"             // no agent gave a sign of life for long
	CauseGone        Reason = "CAUSE_GONE"        // of a retry: nobody's failure stopped the unit, and the cause is gone
	HashMismatch     Reason = "HASH_MISMATCH"
	PrevMismatch     Reason = "PREV_HASH_MISMATCH"
)

// Passes reports whether the reason may pass by itself, so that the agent tries again later.
func (r Reason) Passes() bool {
	return r == Backpressure || r == VerdictTimeout || r == Trouble || r == TransientFailure || r == ProgramKilled || r.Free()
}

// Free reports whether the reason is not the unit's failure, so that continuing spends no
// retry.
func (r Reason) Free() bool { return r == Stopped || r == Stale }

// Reasons lists the codes that an actor may give for an event; none when the
// event is not the actor's to make.
func Reasons(e Event, a Actor) []Reason { return slices.Clone(reasons[e][a]) }

// actors lists who may make an event, in a fixed order.
func actors(e Event) []Actor {
	var list []Actor
	for _, a := range []Actor{Agent, PM, Host} {
		if len(reasons[e][a]) > 0 {
			list = append(list, a)
		}
	}
	return list
}
