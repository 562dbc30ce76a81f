package loop

import (
	"slices"
	"strings"
	"testing"

	"git-ward/internal/config"
	"git-ward/protocols/comms"
)

// sound are the facts of a loop in its second iteration, at a state where all is
// well.
func sound(t *testing.T, state State) Facts {
	limits := LimitsOf(comms.Options{}, Base(config.Default().Loop))
	p := declared(t, Exact)
	capsule, _, found := Build(Sources{Declaration: p, Limits: limits, Iteration: 1, Spent: 1, Learnings: StartLoop("", p, "2026-11-21")})
	if len(found) > 0 {
		t.Fatal(found)
	}
	first := Certify(Findings{Declaration: p, Limits: limits, Spent: 1, Verdict: judged(p, trial(false, Residual{}))})
	entry := Entry{Loop: p.LoopID, Certificate: first.Type, Residual: first.Residual}
	return Facts{State: state, Declared: true, Capsule: capsule, Prompts: []string{"Continue.\n" + string(capsule) + "\n"}, Learnings: AppendEntry("", entry),
		Loop: p.LoopID, Spent: 1, Limits: limits, Certificate: &first, Begun: 1, Subagents: 1}
}

// TestForbiddenStates: each state of 003, section 2.5, is seen by its detector
// alone, ends the loop by its recovery, and is not seen a step before it.
func TestForbiddenStates(t *testing.T) {
	grown := func(f *Facts) { c := *f.Certificate; c.History = history(t, "1 2 3"); f.Certificate = &c }
	typed := func(kind string) func(*Facts) {
		return func(f *Facts) { c := *f.Certificate; c.Type, c.Lane = kind, laneOf(kind); f.Certificate = &c }
	}
	for _, c := range []struct {
		what string
		at   State
		make func(*Facts)
		want string
		exit Status
	}{
		{"all is well at its begin", DreamGoal, func(*Facts) {}, "", ""},
		{"all is well at work", SpawnSubagent, func(*Facts) {}, "", ""},
		{"all is well at the budget check", BudgetCheck, func(*Facts) {}, "", ""},

		{"nothing is declared", SpawnSubagent, func(f *Facts) { f.Declared = false }, "INFINITE_LOOP_WITHOUT_HALTING_CRITERIA", ExitBlocked},
		{"nothing is declared, nor begun", NullCheck, func(f *Facts) { f.Declared = false }, "", ""},

		{"a prompt without the capsule", CollectArtifacts, func(f *Facts) { f.Prompts = []string{"Do it."} }, "CONTEXT_BLEED_BETWEEN_ITERATIONS", ExitBlocked},
		{"a prompt with a talk beside it", CollectArtifacts, func(f *Facts) { f.Prompts[0] += "as we discussed" }, "CONTEXT_BLEED_BETWEEN_ITERATIONS", ExitBlocked},
		{"the second of two prompts", CollectArtifacts, func(f *Facts) { f.Prompts = append(f.Prompts, "x") }, "CONTEXT_BLEED_BETWEEN_ITERATIONS", ExitBlocked},
		{"no capsule is committed", CollectArtifacts, func(f *Facts) { f.Capsule = nil }, "CONTEXT_BLEED_BETWEEN_ITERATIONS", ExitBlocked},
		{"a capsule that lacks fields", CollectArtifacts, func(f *Facts) { f.Capsule = []byte("{}"); f.Prompts = []string{"{}"} }, "CONTEXT_BLEED_BETWEEN_ITERATIONS", ExitBlocked},
		{"nobody was told anything", CollectArtifacts, func(f *Facts) { f.Prompts, f.Capsule = nil, nil }, "", ""},

		{"no entry", BudgetCheck, func(f *Facts) { f.Learnings = "# LEARNINGS.md\n" }, "LEARNINGS_NOT_ACCUMULATED", ExitBlocked},
		{"another loop's entry", BudgetCheck, func(f *Facts) { f.Loop = "D-1.2" }, "LEARNINGS_NOT_ACCUMULATED", ExitBlocked},
		{"no certificate", BudgetCheck, func(f *Facts) { f.Certificate = nil }, "LEARNINGS_NOT_ACCUMULATED", ExitBlocked},
		{"no entry yet", CollectArtifacts, func(f *Facts) { f.Learnings = "" }, "", ""},

		{"EXACT with what is open", BudgetCheck, typed(Exact), "CONVERGENCE_CLAIM_WITHOUT_CERTIFICATE", ExitBlocked},
		{"success by a certificate of none", BudgetCheck, func(f *Facts) { f.Status = ExitConverged }, "CONVERGENCE_CLAIM_WITHOUT_CERTIFICATE", ExitBlocked},

		{"two subagents", CollectArtifacts, func(f *Facts) { f.Subagents = 2 }, "STACKED_SPECULATIVE_ITERATIONS", ExitBlocked},
		{"two iterations", SpawnSubagent, func(f *Facts) { f.Begun = 2 }, "STACKED_SPECULATIVE_ITERATIONS", ExitBlocked},

		{"another iteration than there are", SpawnSubagent, func(f *Facts) { f.Spent = f.Limits.MaxIterations }, "BUDGET_IGNORE", ExitBudgetExceeded},
		{"more calls than there are", SpawnSubagent, func(f *Facts) { f.Used.ToolCalls = f.Limits.MaxTotalToolCalls }, "BUDGET_IGNORE", ExitBudgetExceeded},
		{"all is spent, which is to be decided", BudgetCheck, func(f *Facts) { f.Spent = f.Limits.MaxIterations }, "", ""},

		{"on, though the residuals grow", SpawnSubagent, grown, "SILENT_DIVERGENCE", ExitDiverged},
		{"blocked, though the residuals grow", BudgetCheck, func(f *Facts) { grown(f); f.Status = ExitBlocked }, "SILENT_DIVERGENCE", ExitDiverged},
		{"the residuals grow, which is to be decided", BudgetCheck, grown, "", ""},
		{"diverged", BudgetCheck, func(f *Facts) { grown(f); f.Status = ExitDiverged }, "", ""},
	} {
		f := sound(t, c.at)
		c.make(&f)
		var names []string
		for _, v := range Violations(f) {
			names = append(names, v.Name)
			to, err := Next(c.at, v.Recovery.Event)
			if exit, ends := to.Exit(); err != nil || !ends || exit != c.exit || v.Recovery.Reason == "" || !strings.Contains(v.Words(), v.Recovery.Words) {
				t.Errorf("%s: its recovery leads to %s: %v", c.what, to, err)
			}
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	if err := SelfTest(); err != nil {
		t.Error(err)
	}
}

// TestEveryRecoveryLeads: wherever a loop is, and whichever exit it is about to take,
// the machine has a way for the recovery of each forbidden state that is seen there.
func TestEveryRecoveryLeads(t *testing.T) {
	worst := sound(t, Init)
	worst.Declared, worst.Prompts, worst.Learnings, worst.Subagents, worst.Begun = false, []string{"x"}, "", 2, 2
	worst.Spent = worst.Limits.MaxIterations
	worst.Certificate = &Certificate{Type: Exact, History: history(t, "1 2 3")}
	for _, way := range Machine().Transitions {
		for _, exit := range []Status{"", Status(way.To)} {
			worst.State, worst.Status = State(way.From), exit
			if _, ends := State(way.To).Exit(); exit != "" && !ends {
				continue
			}
			for _, v := range Violations(worst) {
				if to, err := Next(worst.State, v.Recovery.Event); err != nil {
					t.Errorf("%s in %s before %q: %s %v", v.Name, worst.State, exit, to, err)
				}
			}
		}
	}
}

// TestNeverFewer: no forbidden state may ever go (003, section 17).
func TestNeverFewer(t *testing.T) {
	want := []string{"INFINITE_LOOP_WITHOUT_HALTING_CRITERIA", "CONTEXT_BLEED_BETWEEN_ITERATIONS", "LEARNINGS_NOT_ACCUMULATED",
		"CONVERGENCE_CLAIM_WITHOUT_CERTIFICATE", "STACKED_SPECULATIVE_ITERATIONS", "BUDGET_IGNORE", "SILENT_DIVERGENCE"}
	var names []string
	for _, s := range ForbiddenStates() {
		names = append(names, s.Name)
	}
	if !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}

// TestNext: an event that leads nowhere is an error that names those that do, and
// what detectors want of each state is there.
func TestNext(t *testing.T) {
	at, err := Next(BudgetCheck, SubagentOutput)
	if at != BudgetCheck || err == nil || !strings.Contains(err.Error(), string(ContinueLoop)) {
		t.Error(at, err)
	}
	for _, s := range []State{DreamGoal, SpawnSubagent, CollectArtifacts, CheckHalting, AccumulateLearnings, BudgetCheck} {
		to, err := Next(s, InvariantBroken)
		if exit, ends := to.Exit(); err != nil || !ends || exit != ExitBlocked {
			t.Errorf("%s: %s %v", s, to, err)
		}
		if exit, ends := s.Exit(); ends {
			t.Errorf("%s is the exit %s", s, exit)
		}
	}
	for _, s := range Statuses() {
		if exit, ends := State(s).Exit(); !ends || exit != s {
			t.Errorf("%s is no exit", s)
		}
	}
}
