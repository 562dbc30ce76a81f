package loop

import (
	"fmt"
	"strings"
)

// Forbidden is one of the states that no loop may be in (003, section 2.5). The
// list only ever grows (section 17); a new rule brings a detector, a recovery and
// a test that fails without it (section 18).
type Forbidden struct {
	Name       string
	Definition string
	Recovery   string
	Detect     func(Facts) bool
}

// Facts is what the detectors look at: what the agent's process and its evidence
// say of the present moment.
type Facts struct {
	State        State
	Declared     bool   // halting certificates are declared
	Prompt       string // what the subagent gets
	HasCapsule   bool   // the prompt carries the capsule of this iteration
	Learnings    string // LEARNINGS.md as committed
	Loop         string
	Iteration    int
	Spent        int
	Used         Usage
	Limits       Limits
	Certificate  *Certificate
	History      []Residual
	Status       Status // "" while the loop runs
	ActiveAgents int
}

// ForbiddenStates lists all of them, in the order of 003.
func ForbiddenStates() []Forbidden {
	return []Forbidden{
		{"INFINITE_LOOP_WITHOUT_HALTING_CRITERIA", "the loop runs without declared halting certificates", "EXIT_BLOCKED(HALTING_CRITERIA_MISSING)",
			func(f Facts) bool {
				return f.at(DreamGoal, SpawnSubagent, CollectArtifacts, CheckHalting) && !f.Declared
			}},
		{"CONTEXT_BLEED_BETWEEN_ITERATIONS", "the prompt is not the capsule, or leads back into an earlier talk", "rebuild the capsule from artifacts only",
			func(f Facts) bool { return f.Prompt != "" && (!f.HasCapsule || bleeds(f.Prompt) != "") }},
		{"LEARNINGS_NOT_ACCUMULATED", "the iteration's learnings are not in " + LearningsPath, "EXIT_BLOCKED(INVARIANT_VIOLATION)",
			func(f Facts) bool { return f.at(BudgetCheck) && !HasEntry(f.Learnings, f.Loop, f.Iteration) }},
		{"CONVERGENCE_CLAIM_WITHOUT_CERTIFICATE", "EXIT_CONVERGED without a certificate that holds", "EXIT_BLOCKED(CONVERGENCE_CLAIM_WITHOUT_R_P_CERTIFICATE)",
			func(f Facts) bool {
				return f.Status == ExitConverged && (f.Certificate == nil || f.Certificate.Type != Exact && f.Certificate.Type != Converged || len(f.Certificate.Problems()) > 0)
			}},
		{"STACKED_SPECULATIVE_ITERATIONS", "more than one subagent at a time", "cancel all but the oldest, collect its artifacts, go on",
			func(f Facts) bool { return f.ActiveAgents > 1 }},
		{"BUDGET_IGNORE", "a limit is passed and the loop goes on", "EXIT_BUDGET_EXCEEDED(MAX_ITERS)",
			func(f Facts) bool {
				_, spent := f.Limits.Exhausted(f.Spent, f.Used)
				return spent && f.Status == "" && f.at(SpawnSubagent)
			}},
		{"SILENT_DIVERGENCE", "residuals grow three times and the loop goes on", "write a DIVERGENCE learning, EXIT_DIVERGED",
			func(f Facts) bool {
				return Diverges(f.History) && f.Status != ExitDiverged && (f.Status != "" || f.at(SpawnSubagent))
			}},
	}
}

func (f Facts) at(states ...State) bool {
	for _, s := range states {
		if f.State == s {
			return true
		}
	}
	return false
}

// Violations names every forbidden state that the facts are in, with its
// recovery.
func Violations(f Facts) []string {
	var list []string
	for _, s := range ForbiddenStates() {
		if s.Detect(f) {
			list = append(list, fmt.Sprintf("%s: %s; %s", s.Name, s.Definition, s.Recovery))
		}
	}
	return list
}

// DivergenceLearning is the entry that divergence must leave (003, section 1,
// step 7): lane A, so with a link to the certificate that shows it.
func DivergenceLearning(c Certificate, link Link) Learning {
	return Learning{LaneA, "DIVERGENCE: the residual grew in three iterations one after the other: " + strings.ReplaceAll(words(c.History[max(0, len(c.History)-DivergenceWindow):]), ", ", " < "), &link}
}

// FailureLearning is the entry that an iteration without artifacts must leave
// (003, section 1, step 3).
func FailureLearning(iteration int, link Link) Learning {
	return Learning{LaneA, fmt.Sprintf("FAILURE: iteration %d produced no artifacts", iteration), &link}
}
