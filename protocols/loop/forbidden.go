package loop

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// Forbidden is a state that no loop may be in (003, section 2.5). States are never removed (section
// 17). A new one needs a detector, a recovery, and a test that fails without it (section 18).
type Forbidden struct {
	Name       string
	Definition string
	Recovery   Decision // how the loop ends; its Words say what to do then
	Detect     func(Facts) bool
}

// Words describes the state and its recovery for people.
func (f Forbidden) Words() string {
	return fmt.Sprintf("%s: %s; %s", f.Name, f.Definition, f.Recovery.Words)
}

// Facts is the input of the detectors: the state of the agent's process, the journal, and the
// committed evidence.
type Facts struct {
	State       State        // entered just now, or about to be left for Status
	Status      Status       // the exit that is about to be taken, "" while the loop runs
	Declared    bool         // plan.json declares the loop's halting certificates
	Prompts     []string     // of each new subagent, without the PM's own files
	PM          []string     // the PM's words on the unit, which prompts repeat
	Capsule     []byte       // the iteration's committed capsule; nil for none
	Learnings   string       // LEARNINGS.md
	Loop        string       // the unit, "D-1.1"
	Spent       int          // iterations of the directive's text before the current one
	Used        Usage        // the sum of budget_log.json
	Limits      Limits       // of the directive
	Certificate *Certificate // of the last iteration that ended, nil before the first
	Begun       int          // iterations that the journal began and that have no certificate
	Subagents   int          // the maximum that worked at the same time
}

// ForbiddenStates lists all of them, in the order of 003.
func ForbiddenStates() []Forbidden {
	return []Forbidden{
		{"INFINITE_LOOP_WITHOUT_HALTING_CRITERIA", "the loop runs without declared halting certificates",
			Decision{CriteriaMissing, HaltingMissing, "declare them in the directive"}, Facts.undeclared},
		{"CONTEXT_BLEED_BETWEEN_ITERATIONS", "the prompt is not the capsule, or leads back into an earlier talk",
			Decision{InvariantBroken, InvariantViolation, "the work is dropped, and the next run tells the capsule alone"}, Facts.bled},
		{"LEARNINGS_NOT_ACCUMULATED", "the iteration's learnings are not in " + LearningsPath,
			Decision{InvariantBroken, InvariantViolation, "put them back from the iteration's " + EntryFile}, Facts.forgot},
		{"CONVERGENCE_CLAIM_WITHOUT_CERTIFICATE", "success is claimed without a certificate that holds",
			Decision{InvariantBroken, WithoutCertificate, "see the iteration's " + CertificateFile + " and the host's verdict"}, Facts.unproved},
		{"STACKED_SPECULATIVE_ITERATIONS", "more than one subagent, or iteration, at a time",
			Decision{InvariantBroken, InvariantViolation, "all but the oldest are cancelled, and what they did together is dropped"}, Facts.stacked},
		{"BUDGET_IGNORE", "a limit is reached and the loop goes on",
			Decision{BudgetExhausted, MaxIters, "the budget is spent"}, Facts.overspent},
		{"SILENT_DIVERGENCE", "residuals grow three times and the loop goes on",
			Decision{Diverged3, SilentDivergence, "the divergence is written into " + LearningsPath}, Facts.silent},
	}
}

// Violations lists the forbidden states that the facts are in.
func Violations(f Facts) []Forbidden {
	return slices.DeleteFunc(ForbiddenStates(), func(s Forbidden) bool { return !s.Detect(f) })
}

func (f Facts) at(states ...State) bool { return f.Status == "" && slices.Contains(states, f.State) }

// running reports whether the loop is declared and past its preparation.
func (f Facts) running() bool {
	return !slices.Contains([]State{Init, IntakeGoal, NullCheck, DreamGoal}, f.State)
}

func (f Facts) undeclared() bool {
	return f.at(DreamGoal, SpawnSubagent, CollectArtifacts, CheckHalting) && !f.Declared
}

// bled reports whether a prompt lacks the capsule or refers to a conversation outside it. Check
// looks for such references in the capsule itself, and allows them in the PM's words.
func (f Facts) bled() bool {
	if len(f.Prompts) == 0 || !f.running() {
		return false
	}
	var c Capsule
	if json.Unmarshal(f.Capsule, &c, json.RejectUnknownMembers(true)) != nil || len(c.Check()) > 0 {
		return true
	}
	return slices.ContainsFunc(f.Prompts, func(prompt string) bool {
		before, after, carried := strings.Cut(prompt, strings.TrimSpace(string(f.Capsule)))
		return !carried || bleeds(f.withoutPM(before)) != "" || bleeds(f.withoutPM(after)) != ""
	})
}

// withoutPM removes the PM's lines from a text: his words may refer to a conversation, because it
// is not one of the worker's.
func (f Facts) withoutPM(text string) string {
	for _, words := range f.PM {
		for line := range strings.SplitSeq(words, "\n") {
			if line = strings.TrimSpace(line); bleeds(line) != "" {
				text = strings.ReplaceAll(text, line, "")
			}
		}
	}
	return text
}

func (f Facts) forgot() bool {
	return f.at(BudgetCheck) && (f.Certificate == nil || !HasEntry(f.Learnings, f.Loop, f.Certificate.Iteration))
}

func (f Facts) unproved() bool {
	if f.at(BudgetCheck) {
		return f.Certificate != nil && len(f.Certificate.Problems()) > 0
	}
	return f.Status == ExitConverged && (f.Certificate == nil || f.Certificate.Type != Exact && f.Certificate.Type != Converged || len(f.Certificate.Problems()) > 0)
}

func (f Facts) stacked() bool {
	return f.running() && (f.Subagents > 1 || f.Begun > 1)
}

func (f Facts) overspent() bool {
	_, spent := f.Limits.Exhausted(f.Spent, f.Used)
	return spent && f.at(SpawnSubagent)
}

func (f Facts) silent() bool {
	goesOn := f.at(SpawnSubagent, CollectArtifacts, CheckHalting)
	endsOtherwise := f.running() && f.Status != "" && f.Status != ExitDiverged
	return f.Certificate != nil && Diverges(f.Certificate.History) && (goesOn || endsOtherwise)
}
