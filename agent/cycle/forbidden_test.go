package cycle

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// The transitions after which a run is killed, to be found amended when it goes on.
const (
	firstEnded   = 8  // the first iteration is at its budget check
	secondBegun  = 10 // the second one's Solver has ended
	thirdEnded   = 18
	firstFile    = "evidence/D-1/loop/iter_0/"
	thirdFile    = "evidence/D-1/loop/iter_2/"
	planFile     = "evidence/D-1/loop/plan.json"
	certificates = `["EXACT","CONVERGED"]`
)

// TestForbidden drives the loop into each forbidden state of 003, section 2.5, by a
// team that does wrong or by a hand in the evidence, and sees it end by the state's
// recovery. Nothing but its detector stops each of them.
func TestForbidden(t *testing.T) {
	for _, c := range []struct {
		how       string
		name      string // of the forbidden state
		options   string
		earlier   int64
		residuals string
		solve     func(*site, Brief, *Subagents) error
		kill      int
		amend     func(*site)
		want      string
		branch    string // what the record holds then: "path: text", "" for anything; "!path" of the work
	}{
		{how: "plan.json is emptied", name: "INFINITE_LOOP_WITHOUT_HALTING_CRITERIA", residuals: "0",
			solve: func(s *site, _ Brief, _ *Subagents) error {
				// A program in the agent's own clone can do what a hand can.
				s.must(s.write("work", "of one who does away with the end"))
				plan := []byte(strings.Replace(s.git(s.bare, "", "show", ref+":"+planFile), certificates, "[]", 1))
				_, err := s.work.Record.Commit(s.Context(), "by hand", "", map[string][]byte{planFile: plan})
				return err
			},
			want: "EXIT_BLOCKED HALTING_CRITERIA_MISSING in COLLECT_ARTIFACTS"},
		{how: "a talk beside the capsule", name: "CONTEXT_BLEED_BETWEEN_ITERATIONS", residuals: "0",
			solve: func(s *site, b Brief, subagents *Subagents) error {
				_, end := subagents.Begin(s.Context(), "As we discussed, go on.\n"+string(b.Capsule))
				defer end()
				return s.write("work", "of one who was told too much")
			},
			want: "EXIT_BLOCKED INVARIANT_VIOLATION in COLLECT_ARTIFACTS", branch: "!work"},
		{how: "no capsule in the prompt", name: "CONTEXT_BLEED_BETWEEN_ITERATIONS", residuals: "0",
			solve: func(s *site, b Brief, subagents *Subagents) error {
				_, end := subagents.Begin(s.Context(), "The iteration before told me what to do.")
				defer end()
				return s.write("work", "of one without a capsule")
			},
			want: "EXIT_BLOCKED INVARIANT_VIOLATION in COLLECT_ARTIFACTS", branch: "!work"},
		{how: "the entry is gone", name: "LEARNINGS_NOT_ACCUMULATED", residuals: "0", kill: firstEnded,
			amend: func(s *site) {
				s.amend(loop.LearningsPath, "## Iteration 0 of D-1.1 => ## Iteration 7 of D-1.1")
			},
			want: "EXIT_BLOCKED INVARIANT_VIOLATION in BUDGET_CHECK"},
		{how: "a certificate is made EXACT", name: "CONVERGENCE_CLAIM_WITHOUT_CERTIFICATE", residuals: "2", kill: firstEnded,
			amend: func(s *site) { s.amend(firstFile+loop.CertificateFile, `"type":"NONE" => "type":"EXACT"`) },
			want:  "EXIT_BLOCKED CONVERGENCE_CLAIM_WITHOUT_R_P_CERTIFICATE in BUDGET_CHECK"},
		{how: "two subagents at once", name: "STACKED_SPECULATIVE_ITERATIONS", residuals: "0",
			solve: func(s *site, b Brief, subagents *Subagents) error {
				oldest, end := subagents.Begin(s.Context(), string(b.Capsule))
				defer end()
				second, end := subagents.Begin(s.Context(), string(b.Capsule))
				defer end()
				if oldest.Err() != nil || context.Cause(second) != errStacked {
					s.Errorf("the oldest: %v, the second: %v", oldest.Err(), context.Cause(second))
				}
				return s.write("work", "of two")
			},
			want: "EXIT_BLOCKED INVARIANT_VIOLATION in COLLECT_ARTIFACTS", branch: "!work"},
		{how: "two iterations begun", name: "STACKED_SPECULATIVE_ITERATIONS", residuals: "2 0", kill: firstEnded,
			amend: func(s *site) {
				s.open()
				s.step(uow.Input{Event: uow.Iterate, Reason: "ITERATION_STARTED"})
				s.step(uow.Input{Event: uow.Iterate, Reason: "ITERATION_STARTED"})
			},
			want: "EXIT_BLOCKED INVARIANT_VIOLATION in SPAWN_SUBAGENT"},
		{how: "earlier units spent it", name: "BUDGET_IGNORE", residuals: "0", options: "- max_iterations: 1\n", earlier: 1,
			want: "EXIT_BUDGET_EXCEEDED MAX_ITERS"},
		{how: "the budget log says more", name: "BUDGET_IGNORE", residuals: "2 0", kill: secondBegun,
			amend: func(s *site) {
				s.amend("evidence/D-1/loop/"+loop.BudgetFile, `"tool_calls":2 => "tool_calls":1000000`)
			},
			want: "EXIT_BUDGET_EXCEEDED MAX_ITERS"},
		{how: "a certificate is made NONE", name: "SILENT_DIVERGENCE", residuals: "1 2 3 0", kill: thirdEnded,
			amend: func(s *site) {
				s.amend(thirdFile+loop.CertificateFile, `"type":"DIVERGED" => "type":"NONE"`)
				s.amend(thirdFile+loop.CertificateFile, `"lane":"A" => "lane":"C"`)
			},
			want: "EXIT_DIVERGED SILENT_DIVERGENCE_DETECTED", branch: loop.LearningsPath + ": 1 < 2 < 3 (" + thirdFile + loop.CertificateFile},
	} {
		t.Run(c.name+"/"+c.how, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && c.kill > 0 {
				t.Skip("SKIPPED in the quick tier: a loop of several iterations, killed and taken up")
			}
			s := newSite(t, asked+c.options, c.earlier)
			s.residuals, s.solve, s.kill = strings.Fields(c.residuals), c.solve, c.kill
			if c.kill > 0 {
				if _, err := s.run(); err == nil {
					t.Fatal("it was not killed")
				}
				s.kill = 0
				s.must(s.work.Offer(s.Context())) // as at a pause
				c.amend(s)
			}
			how, r := s.ends()
			if how != c.want {
				t.Errorf("%s, want %s\n%s", how, c.want, r.Outcome())
			}
			// The log of the recovery's transition has its reason, the activity log has its end.
			if status := string(r.Status); !strings.HasSuffix(s.way(), " "+status) || !strings.Contains(s.log.String(), `"to":"`+status+`","why":"`) {
				t.Errorf("the way to the recovery's exit is not logged: %s\n%s", s.way(), s.log.String())
			}
			if !strings.Contains(s.log.String(), `"forbidden":"`+c.name+`"`) {
				t.Errorf("the log does not name it:\n%s", s.log.String())
			}
			s.holds(c.branch)
		})
	}
}

// holds looks for "path: text" on the record, or for "!path", which is neither on the
// branch nor in the working tree.
func (s *site) holds(what string) {
	s.Helper()
	if what == "" {
		return
	}
	if path, not := strings.CutPrefix(what, "!"); not {
		if out := s.git(s.bare, "", "for-each-ref", "refs/heads/agent"); out != "" {
			s.Errorf("there is a branch: %s", out)
		}
		if _, err := os.Stat(filepath.Join(s.work.Dir(), path)); !os.IsNotExist(err) {
			s.Errorf("the working tree has %s: %v", path, err)
		}
		return
	}
	path, text, _ := strings.Cut(what, ": ")
	if file := s.git(s.bare, "", "show", ref+":"+path); !strings.Contains(file, text) {
		s.Errorf("%s has no %q:\n%s", path, text, file)
	}
}
