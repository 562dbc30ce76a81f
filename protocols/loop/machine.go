package loop

import (
	"fmt"
	"strings"

	"git-ward/protocols/fsm"
)

// Machine returns the loop's state machine (003, section 2); `git ward fsm --dot loop` draws it.
// Beyond 003's transitions it has exits from the middle of an iteration: to the exit of each
// forbidden state's recovery, to EXIT_BUDGET_EXCEEDED if the budget does not cover the rest, to
// EXIT_NEED_INFO if a verdict waits for the PM's word, and, before the first iteration, to
// EXIT_BLOCKED under backpressure.
var Machine = fsm.Once(fsm.Loop)

// State is a state of the machine.
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

// ExitCancelled is the status of a loop that the PM stopped by `git ward uow cancel`. It is no state
// of the machine, because he can stop the machine in any state.
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
	MaxToolCalls         StopReason = "MAX_TOOL_CALLS" // 003 uses it for seconds, too (6.3); Ward also for tokens, money and the launch's time
	BackpressureSignal   StopReason = "BACKPRESSURE_SIGNAL"
	InvariantViolation   StopReason = "INVARIANT_VIOLATION"
	EvidenceIncomplete   StopReason = "EVIDENCE_INCOMPLETE"
	WithoutCertificate   StopReason = "CONVERGENCE_CLAIM_WITHOUT_R_P_CERTIFICATE"
	HaltingMissing       StopReason = "HALTING_CRITERIA_MISSING"
	NullInput            StopReason = "NULL_INPUT"
	StartFailed          StopReason = "START_FAILED"        // the agent's own program was certified, but does not start from its branch
	VerdictUnavailable   StopReason = "VERDICT_UNAVAILABLE" // no verdict within [verify] timeout (SBX-8)
	NotIncluded          StopReason = "NOT_INCLUDED"        // the claim passes only by the PM's word
	ToolMissing          StopReason = "MISSING_TOOL"        // a command of the directive needs a program that is not installed where it runs
)

// Next returns the state after an event. If the state has no transition for the event, the error
// names the events that it has.
func Next(from State, on Event) (State, error) {
	to, ok := Machine().Next(string(from), string(on))
	if !ok {
		return from, fmt.Errorf("the loop is at %s, where %s leads nowhere; there are: %s", from, on,
			strings.Join(Machine().Expects(string(from)), ", "))
	}
	return State(to), nil
}

// Exit returns the status of a loop that ends in this state; ok is false if the state is no exit.
func (s State) Exit() (status Status, ok bool) {
	if !Machine().Accepts(string(s)) {
		return "", false
	}
	return Status(s), true
}
