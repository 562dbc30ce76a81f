package loop

import (
	"fmt"
	"strings"

	"git-ward/protocols/fsm"
)

// Machine is the loop's lifecycle as data (003, section 2); `git ward fsm --dot
// loop` draws it. Beyond 003's transitions it has the ways out of the middle of an
// iteration: to the exit of each forbidden state's recovery, to EXIT_BUDGET_EXCEEDED
// where nobody pays for the rest, to EXIT_NEED_INFO where a verdict waits for the PM's word,
// and to EXIT_BLOCKED under backpressure before the first iteration.
var Machine = fsm.Once(fsm.Loop)

// State is where a loop stands.
type State string

// The states of 003, section 2.1; the exits are Statuses, too.
const (
	Init                State = "INIT"
	IntakeGoal          State = "INTAKE_GOAL"
	NullCheck           State = "NULL_CHECK"
	DreamGoal           State = "DREAM_GOAL"
	SpawnSubagent       State = "SPAWN_SUBAGENT"
	CollectArtifacts    State = "COLLECT_ARTIFACTS"
	CheckHalting        State = "CHECK_HALTING"
	AccumulateLearnings State = "ACCUMULATE_LEARNINGS"
	BudgetCheck         State = "BUDGET_CHECK"
)

// Status is how a loop ended (LOOP-1); comms.Status has the same words.
type Status string

// The five exits.
const (
	ExitConverged      Status = "EXIT_CONVERGED"
	ExitDiverged       Status = "EXIT_DIVERGED"
	ExitBudgetExceeded Status = "EXIT_BUDGET_EXCEEDED"
	ExitBlocked        Status = "EXIT_BLOCKED"
	ExitNeedInfo       Status = "EXIT_NEED_INFO"
)

// ExitCancelled is the end of a loop that the PM's `git ward uow cancel` ended from outside: no
// state of the machine, which he stops in whatever state it is.
const ExitCancelled Status = "EXIT_CANCELLED"

// Statuses lists the exits.
func Statuses() []Status {
	return []Status{ExitConverged, ExitDiverged, ExitBudgetExceeded, ExitBlocked, ExitNeedInfo}
}

// Event is a symbol of the machine.
type Event string

// The events.
const (
	GoalRequest      Event = "goal_request"
	IntakeDone       Event = "intake_done"
	NullDetected     Event = "null_detected"
	InputsDefined    Event = "inputs_defined"
	PlanWritten      Event = "plan_written"
	CriteriaMissing  Event = "halting_criteria_missing"
	SubagentOutput   Event = "subagent_output"
	ArtifactsEmpty   Event = "artifacts_empty"
	ArtifactsPresent Event = "artifacts_present"
	Certified        Event = "certificate_checked"
	LearningsWritten Event = "learnings_written"
	Diverged3        Event = "diverged_3_consecutive"
	ExactOrConverged Event = "certificate_exact_or_converged"
	BudgetExhausted  Event = "budget_exhausted"
	Backpressure     Event = "backpressure_signal"
	InvariantBroken  Event = "invariant_violation"
	ContinueLoop     Event = "continue_loop"
)

// StopReason is why a loop ended, in 003's words.
type StopReason string

// The stop reasons.
const (
	ExactCertificate     StopReason = "EXACT_CERTIFICATE"
	ConvergedCertificate StopReason = "CONVERGED_CERTIFICATE"
	SilentDivergence     StopReason = "SILENT_DIVERGENCE_DETECTED"
	MaxIters             StopReason = "MAX_ITERS"
	MaxToolCalls         StopReason = "MAX_TOOL_CALLS" // 003 uses it for seconds, too (6.3); tokens, money and the launch's time are no other
	BackpressureSignal   StopReason = "BACKPRESSURE_SIGNAL"
	InvariantViolation   StopReason = "INVARIANT_VIOLATION"
	EvidenceIncomplete   StopReason = "EVIDENCE_INCOMPLETE"
	WithoutCertificate   StopReason = "CONVERGENCE_CLAIM_WITHOUT_R_P_CERTIFICATE"
	HaltingMissing       StopReason = "HALTING_CRITERIA_MISSING"
	NullInput            StopReason = "NULL_INPUT"
	StartFailed          StopReason = "START_FAILED"        // the agent's own program, certified, does not start from its branch
	VerdictUnavailable   StopReason = "VERDICT_UNAVAILABLE" // no verdict within [verify] timeout (SBX-8)
	NotIncluded          StopReason = "NOT_INCLUDED"        // the claim passes only by the PM's word
	ToolMissing          StopReason = "MISSING_TOOL"        // a command of the directive's wants a program that is not where it runs
)

// Next is the state that an event leads to. An event that leads nowhere from here
// is an error that names the ones that do.
func Next(from State, on Event) (State, error) {
	to, ok := Machine().Next(string(from), string(on))
	if !ok {
		return from, fmt.Errorf("the loop is at %s, where %s leads nowhere; there are: %s", from, on,
			strings.Join(Machine().Expects(string(from)), ", "))
	}
	return State(to), nil
}

// Exit is the status with which a loop ends in this state; ok is false where it
// runs on.
func (s State) Exit() (status Status, ok bool) {
	if !Machine().Accepts(string(s)) {
		return "", false
	}
	return Status(s), true
}
