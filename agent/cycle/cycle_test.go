package cycle

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ward/agent/stop"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// TestWay: a loop of two iterations goes the way of the machine, logs each step of
// it, and leaves the files of 003, section 10.1.
func TestWay(t *testing.T) {
	s := newSite(t, asked, 0)
	s.residuals = []string{"2", "0"}
	if how, r := s.ends(); how != "EXIT_CONVERGED EXACT_CERTIFICATE" || r.Iterations != 2 || r.RungAchieved != loop.Rung274177 {
		t.Error(how, r.Iterations, r.RungAchieved)
	}
	const iteration = "SPAWN_SUBAGENT COLLECT_ARTIFACTS CHECK_HALTING ACCUMULATE_LEARNINGS BUDGET_CHECK "
	if want := "INIT INTAKE_GOAL NULL_CHECK DREAM_GOAL " + iteration + iteration + "EXIT_CONVERGED"; s.way() != want {
		t.Errorf("%s, want %s", s.way(), want)
	}
	const want = `LEARNINGS.md
evidence/D-1/loop/agents_md_final.md
evidence/D-1/loop/budget_log.json
evidence/D-1/loop/halting_report.json
evidence/D-1/loop/iter_0/agents_md_entry.md
evidence/D-1/loop/iter_0/artifacts.json
evidence/D-1/loop/iter_0/budget_log.json
evidence/D-1/loop/iter_0/certificate.json
evidence/D-1/loop/iter_0/changes.txt
evidence/D-1/loop/iter_0/cnf_capsule.json
evidence/D-1/loop/iter_0/manifest.json
evidence/D-1/loop/iter_0/verdict.json
evidence/D-1/loop/iter_0/words.txt
evidence/D-1/loop/iter_1/agents_md_entry.md
evidence/D-1/loop/iter_1/artifacts.json
evidence/D-1/loop/iter_1/budget_log.json
evidence/D-1/loop/iter_1/certificate.json
evidence/D-1/loop/iter_1/changes.txt
evidence/D-1/loop/iter_1/cnf_capsule.json
evidence/D-1/loop/iter_1/manifest.json
evidence/D-1/loop/iter_1/verdict.json
evidence/D-1/loop/iter_1/words.txt
evidence/D-1/loop/manifest.json
evidence/D-1/loop/plan.json`
	if got := s.git(s.bare, "", "ls-tree", "-r", "--name-only", ref); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := s.git(s.bare, "", "diff", "--name-only", "main", "agent/D-1"); got != "work" {
		t.Errorf("the work is %s", got)
	}
	// The machine has a handler for each state that is no exit, and for no other.
	handlers := (&run{deps: &Loop{}}).handlers()
	for _, name := range loop.Machine().States() {
		if _, ends := loop.State(name).Exit(); ends == (handlers[loop.State(name)] != nil) {
			t.Errorf("%s: an exit %v, a handler %v", name, ends, handlers[loop.State(name)] != nil)
		}
	}
}

// TestEnds: each way to end, by what the host finds and what the team does.
func TestEnds(t *testing.T) {
	tier.First(t, "it runs the loop twelve times, each a second of git's")
	idle := func(*site, Brief, *Subagents) error { return nil }
	fails := func(*site, Brief, *Subagents) error { return stop.New(stop.Unfinished, "It failed.") }
	lacks := func(*site, Brief, *Subagents) error {
		return &stop.Stop{Kind: stop.Unfinished, Why: "A step failed.", Err: stop.New(stop.Missing, "exit 127")}
	}
	spent := func(*site, Brief, *Subagents) error { return stop.New(stop.Spent, "The tokens are spent.") }
	for name, c := range map[string]struct {
		lines     string
		residuals string
		make      func(*site)
		want      string
		begun     int // iterations
	}{
		"below the tolerance":                 {"", "1e-4", nil, "EXIT_CONVERGED CONVERGED_CERTIFICATE", 1},
		"the residuals grow":                  {"", "1 2 3", nil, "EXIT_DIVERGED SILENT_DIVERGENCE_DETECTED", 3},
		"no iteration is left":                {asked + "- max_iterations: 1\n", "1", nil, "EXIT_BUDGET_EXCEEDED MAX_ITERS", 1},
		"nothing was made":                    {"", "1", func(s *site) { s.solve = idle }, "EXIT_BLOCKED EVIDENCE_INCOMPLETE in BUDGET_CHECK", 2}, // each claims what there is
		"nobody pays, nothing was made":       {"", "1", func(s *site) { s.solve = spent }, "EXIT_BUDGET_EXCEEDED MAX_TOOL_CALLS", 1},
		"nothing was made, and then it holds": {"", "1 0", func(s *site) { s.solve = idle }, "EXIT_CONVERGED EXACT_CERTIFICATE", 2},
		"nobody comes to an end":              {"", "1", func(s *site) { s.solve = fails }, "EXIT_BLOCKED EVIDENCE_INCOMPLETE in COLLECT_ARTIFACTS", 1},
		"a step's program is missing":         {"", "1", func(s *site) { s.solve = lacks }, "EXIT_BLOCKED MISSING_TOOL in COLLECT_ARTIFACTS", 1},
		"it may hold, and does":               {asked + "- may-hold: yes\n", "0", func(s *site) { s.solve = fails }, "EXIT_CONVERGED EXACT_CERTIFICATE", 1},
		"it may hold, and is made instead":    {asked + "- may-hold: yes\n- max_iterations: 1\n", "1 0", nil, "EXIT_CONVERGED EXACT_CERTIFICATE", 1},
		"it may hold, and nothing was made":   {asked + "- may-hold: yes\n", "1", func(s *site) { s.solve = idle }, "EXIT_BLOCKED EVIDENCE_INCOMPLETE in BUDGET_CHECK", 1},
		"no verdict":                          {"", "-", nil, "EXIT_BLOCKED VERDICT_UNAVAILABLE in CHECK_HALTING", 1},
		"stopped before it began":             {"", "1", func(s *site) { s.signals = []loop.Signal{{Kind: loop.StopFile, Detail: "main"}} }, "EXIT_BLOCKED BACKPRESSURE_SIGNAL in SPAWN_SUBAGENT", 0},
		"stopped at the budget check": {"", "1", func(s *site) {
			s.solve = func(s *site, b Brief, _ *Subagents) error {
				s.signals = []loop.Signal{{Kind: loop.DiskFull}}
				return s.write("work", "x")
			}
		}, "EXIT_BLOCKED BACKPRESSURE_SIGNAL in BUDGET_CHECK", 1},
		"it waits for the PM's word":      {"", "1", func(s *site) { s.left = []loop.Left{{Path: "x", Kind: "added"}} }, "EXIT_NEED_INFO NOT_INCLUDED", 1},
		"nobody can tell when it is done": {"- [ ] it reads well\n", "1", nil, "EXIT_NEED_INFO HALTING_CRITERIA_MISSING", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, cmp.Or(c.lines, asked), 0)
			s.residuals = strings.Fields(c.residuals)
			if c.make != nil {
				c.make(s)
			}
			if how, r := s.ends(); how != c.want || int(s.journal.Last().Iteration) != c.begun {
				t.Errorf("%s after %d iterations, want %s after %d\n%s", how, s.journal.Last().Iteration, c.want, c.begun, r.Outcome())
			}
			if way := strings.Fields(s.way()); !strings.HasPrefix(c.want, way[len(way)-1]) {
				t.Errorf("the machine ends in %s", way[len(way)-1])
			}
		})
	}
}

// TestRungNotReached: a report of the strictest rung names what the verdict lacks for it.
func TestRungNotReached(t *testing.T) {
	tier.First(t, "it runs the loop")
	t.Parallel()
	s := newSite(t, asked+"- rung: 65537\n", 0)
	s.residuals = []string{"0"}
	how, r := s.ends()
	if !strings.HasPrefix(how, "EXIT_CONVERGED") || r.RungAchieved == loop.Rung65537 || !strings.HasPrefix(r.Lessons, "rung 65537 is not reached; missing: ") {
		t.Errorf("%s, rung %d: %q", how, r.RungAchieved, r.Lessons)
	}
}

// TestCarried: work that a unit before left on the branch is judged for the new text,
// although nobody adds to it (REC-1); on what was judged so the loop goes on by work only.
func TestCarried(t *testing.T) {
	tier.First(t, "it runs two units of work, each a second of git's")
	for residuals, want := range map[string]string{
		"0":   "EXIT_CONVERGED EXACT_CERTIFICATE",
		"1 1": "EXIT_BLOCKED EVIDENCE_INCOMPLETE",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, asked+"- max_iterations: 1\n", 0)
			s.residuals = []string{"1"}
			if how, _ := s.ends(); how != "EXIT_BUDGET_EXCEEDED MAX_ITERS" {
				t.Fatal(how)
			}
			first := s.journal.Claimed().Claim
			s.edit(asked + "- max_iterations: 3\n")
			s.solve = func(*site, Brief, *Subagents) error { return nil }
			s.residuals = strings.Fields(residuals)
			end, err := s.run()
			s.must(err)
			if how := string(end.Report.Status) + " " + string(end.Report.StopReason); how != want {
				t.Errorf("the next unit ends %s, want %s", how, want)
			}
			claimed := s.journal.Claimed()
			if claimed == nil {
				t.Fatal("it claims nothing")
			}
			if base := s.git(s.bare, "", "merge-base", first.Commit, claimed.Claim.Commit); base != first.Commit {
				t.Errorf("it claims %s, which does not hold %s", claimed.Claim.Commit, first.Commit)
			}
		})
	}
}

// TestSuspended: what is for somebody else to change ends the run without an exit,
// and without an iteration.
func TestSuspended(t *testing.T) {
	s := newSite(t, asked, 0)
	s.over = "the launch's time is over"
	if _, err := s.run(); !stop.Is(err, stop.Suspended) || s.journal.Last().Iteration != 0 {
		t.Error(err)
	}
	s.over = ""
	s.step(uow.Input{Event: uow.Block, Reason: "LOOP_BLOCKED"})
	if _, err := s.run(); !stop.Is(err, stop.Suspended) {
		t.Error(err)
	}
}

// TestTimeUp: the launch's time is the cause where it ended the work, and not where something else
// did that the time ran out behind.
func TestTimeUp(t *testing.T) {
	for why, cause := range map[string]loop.Cause{"the launch's time is over": loop.TimeUp, "the tokens are spent": loop.Unpaid} {
		s := newSite(t, asked, 0)
		s.solve = func(s *site, _ Brief, _ *Subagents) error {
			s.over = "the launch's time is over"
			return stop.New(stop.Spent, "%s.", why)
		}
		if how, report := s.ends(); report.Cause != cause {
			t.Errorf("%s: %s, the cause is %s", why, how, report.Cause)
		}
	}
}

// TestCallsWithoutClaim: what an iteration used of tools goes with the step that its loop ends
// with, where no claim took it along.
func TestCallsWithoutClaim(t *testing.T) {
	s := newSite(t, asked, 0)
	s.solve = func(*site, Brief, *Subagents) error { return stop.New(stop.Unfinished, "It failed.") }
	if end, err := s.run(); err != nil || end.Calls != 1 {
		t.Errorf("%d calls, %v", end.Calls, err)
	}
}

// TestRefusedIsKept: work that the remote does not take is on a branch of its own, without what
// it does not take, and the report names it; nothing of the unit's is there.
func TestRefusedIsKept(t *testing.T) {
	tier.First(t, "it pushes several times")
	for name, make := range map[string]func(s *site) error{
		"a file": func(s *site) error { return s.write("key.pem", "secret") },
		"a repository within": func(s *site) error {
			s.git(s.work.Dir(), "", "init", "--quiet", "key.pem")
			s.git(filepath.Join(s.work.Dir(), "key.pem"), "", "-c", "user.name=x", "-c", "user.email=x@localhost", "commit", "--quiet", "--allow-empty", "--message=x")
			return nil
		},
	} {
		s := newSite(t, asked, 0)
		const answer = `{"verdict":"refused","findings":[{"path":"key.pem","rule":"secret/key","severity":"error","message":"a key"}],"count":1}`
		hook := filepath.Join(s.bare, "hooks", "pre-receive")
		s.must(os.MkdirAll(filepath.Dir(hook), 0o755))
		gittest.Program(s, hook, "#!/bin/sh\nwhile read -r old new ref; do\n\tif git rev-parse --verify --quiet $new:key.pem >/dev/null; then\n\t\techo '"+answer+"' >&2\n\t\texit 1\n\tfi\ndone\n")
		made := false
		s.solve = func(s *site, _ Brief, _ *Subagents) error {
			if made {
				return nil
			}
			made = true
			return errors.Join(make(s), s.write("work", "done"))
		}
		how, r := s.ends()
		if how != "EXIT_BLOCKED EVIDENCE_INCOMPLETE in COLLECT_ARTIFACTS" || r.Cause != loop.Refused {
			t.Fatalf("%s: %s, %s: %q", name, how, r.Cause, r.NextActions)
		}
		branch := s.git(s.bare, "", "for-each-ref", "--format=%(refname:short)", "refs/heads/rescue/")
		if names := s.git(s.bare, "", "diff", "--name-only", "main", branch); names != "work" || !strings.Contains(r.NextActions[0], branch+" holds the rest of it, without key.pem") {
			t.Errorf("%s: %s has %s: %s", name, branch, names, r.NextActions[0])
		}
	}
}

// TestCapped: a loop whose directive allows no more tokens ends by its own limit, with the
// work claimed, and says which line the PM may raise.
func TestCapped(t *testing.T) {
	s := newSite(t, asked, 0)
	s.residuals, s.limit = []string{"1"}, "max_tokens"
	s.solve = func(s *site, _ Brief, _ *Subagents) error {
		s.must(s.write("work", "half of it"))
		return stop.New(stop.Spent, "The model is not paid for any more.")
	}
	how, r := s.ends()
	if how != "EXIT_BUDGET_EXCEEDED MAX_TOOL_CALLS" || r.Cause != loop.Capped || s.journal.Claimed() == nil ||
		!strings.Contains(strings.Join(r.NextActions, "\n"), "git ward directive edit D-1 (raises max_tokens") {
		t.Errorf("%s, %s: %q", how, r.Cause, r.NextActions)
	}
}

// TestKilled: a loop that is ended between any two states goes on where refs say that
// it was, pays for no iteration twice, and comes to the same end with the same files.
func TestKilled(t *testing.T) {
	tier.Full(t, "a process killed at random moments")
	for _, lines := range []string{asked, asked + "- may-hold: yes\n"} {
		killedAnywhere(t, lines)
	}
}

func killedAnywhere(t *testing.T, lines string) {
	t.Helper()
	whole := newSite(t, lines, 0)
	whole.residuals = []string{"2", "0"}
	if lines != asked { // what is there before is judged, too
		whole.residuals = []string{"3", "2", "0"}
	}
	want, _ := whole.ends()
	files := whole.git(whole.bare, "", "ls-tree", "-r", "--name-only", ref)
	steps := strings.Fields(whole.way())
	for n := 1; n < len(steps)-1; n++ {
		s := newSite(t, lines, 0)
		s.residuals, s.kill = whole.residuals, n
		if _, err := s.run(); err == nil {
			t.Fatalf("it was not killed after %d transitions", n)
		}
		s.kill = 0
		s.open()
		before := len(strings.Fields(s.way()))
		got, report := s.ends()
		if got != want || report.Iterations != 2 || s.journal.Last().Iteration != 2 {
			t.Errorf("killed in %s: %s after %d iterations, %d begun", steps[n], got, report.Iterations, s.journal.Last().Iteration)
		}
		if have := s.git(s.bare, "", "ls-tree", "-r", "--name-only", ref); have != files {
			t.Errorf("killed in %s: %s", steps[n], have)
		}
		entered := strings.Fields(s.way())[before]
		t.Logf("killed in %s, taken up in %s", steps[n], entered)
		if i := slices.Index(steps, entered); i < 0 {
			t.Errorf("taken up in %s", entered)
		}
	}
}
