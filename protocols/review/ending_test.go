package review

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/diag"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/loop/looptest"
	"git-ward/protocols/uow"
)

// TestEndings is the table of all ends: exit and cause, what the report's first line says
// of it, and the command that it, `git ward uow show` and `directive list` name alike.
// Nothing says `git merge` (WORK-5).
func TestEndings(t *testing.T) {
	one, unknown := loop.Residual{}, loop.Residual{}
	one, _ = loop.ParseResidual("1")
	declared := loop.Declaration{LoopID: "D-1.1", DirectiveHash: directive.Hash(), Goal: "make it", Profile: loop.Strict, RungTarget: 641,
		Certificates: []string{loop.Exact}, Commands: []loop.Criterion{{Text: "it is (`true`)", Command: "true"}}}
	judged := func(word string, change func(v *loop.Verdict)) *loop.Verdict {
		v := verdict(word)
		if change != nil {
			change(v)
		}
		return v
	}
	none := judged(loop.None, nil)
	tampered := judged(loop.None, func(v *loop.Verdict) { v.Deviations = []string{"a_test.go"} })
	missing := judged(loop.None, func(v *loop.Verdict) {
		v.MissingTool = &loop.MissingTool{Tool: "make", Command: "make test", Place: "the image x", Remedy: "bring it"}
	})
	added := judged(loop.Exact, func(v *loop.Verdict) { v.Left = []loop.Left{{Path: "zz_test.go", Kind: "added"}} })
	record := func(s uow.State, reason uow.Reason) *uow.Record {
		r := unit(s, true)
		r.ReasonCode = reason
		return r
	}
	failed, done := record(uow.Archived, "ANALYSIS_DONE"), record(uow.Archived, "ANALYSIS_DONE")
	spent := record(uow.ZombiedSoft, "LOOP_BLOCKED") // its iterations
	spent.Budget.Total.Iterations, spent.Budget.Spent.Iterations = 3, 3
	rows := map[string]string{}
	for name, c := range map[string]struct {
		status  loop.Status
		reason  loop.StopReason
		verdict *loop.Verdict // of the last iteration; nil: none came
		over    string
		unit    *uow.Record
		cause   loop.Cause
		first   string // of the report
		next    string // the command to type
	}{
		"proved":                 {loop.ExitConverged, loop.ExactCertificate, judged(loop.Exact, nil), "", done, loop.Proved, "Done: every criterion is met after 1 iteration", "git ward review D-1"},
		"proved, more left":      {loop.ExitConverged, loop.ExactCertificate, added, "", done, loop.WithChanges, "Done: every criterion is met", "git ward review D-1"},
		"proved, a lost test":    {loop.ExitConverged, loop.ExactCertificate, judged(loop.Exact, func(v *loop.Verdict) { v.Lost = []string{"TestA"} }), "", done, loop.Doubted, "Done: every criterion is met", "git ward review D-1"},
		"already true":           {loop.ExitConverged, loop.ExactCertificate, judged(loop.Exact, func(v *loop.Verdict) { v.Unchanged = true }), "", done, loop.AlreadyTrue, "Already true: every criterion is met on the project as it is", "git ward review D-1"},
		"cancelled":              {loop.ExitCancelled, loop.InvariantViolation, none, "", failed, loop.Cancelled, "Cancelled after 1 iteration: so it was.", "git ward directive edit D-1"},
		"diverged":               {loop.ExitDiverged, loop.SilentDivergence, none, "", failed, loop.Grew, "Stopped: the residual grew over three iterations", "git ward directive edit D-1"},
		"diverged, tampered":     {loop.ExitDiverged, loop.SilentDivergence, tampered, "", failed, loop.Tampered, "Stopped after 1 iteration: the claim changed what the directive froze", "git ward directive edit D-1"},
		"diverged, no tool":      {loop.ExitDiverged, loop.SilentDivergence, missing, "", failed, loop.NoTool, "Stopped after 1 iteration: what decides could not be run", "git ward uow fork D-1.1"},
		"iterations":             {loop.ExitBudgetExceeded, loop.MaxIters, none, "", failed, loop.Iterations, "Stopped: the budget is spent after 1 iteration: ", "git ward directive edit D-1"},
		"iterations, tampered":   {loop.ExitBudgetExceeded, loop.MaxIters, tampered, "", failed, loop.Tampered, "Stopped after 1 iteration: the claim changed what the directive froze", "git ward directive edit D-1"},
		"iterations, no tool":    {loop.ExitBudgetExceeded, loop.MaxIters, missing, "", failed, loop.NoTool, "Stopped after 1 iteration: what decides could not be run", "git ward uow fork D-1.1"},
		"calls":                  {loop.ExitBudgetExceeded, loop.MaxToolCalls, none, "", failed, loop.Effort, "Stopped: the budget is spent after 1 iteration: ", "git ward directive edit D-1"},
		"money":                  {loop.ExitBudgetExceeded, loop.MaxToolCalls, none, "the tokens are spent", failed, loop.Unpaid, "Stopped: the budget is spent after 1 iteration", "git ward directive edit D-1"},
		"the launch's time":      {loop.ExitBudgetExceeded, loop.MaxToolCalls, none, "[budget] time", failed, loop.TimeUp, "Stopped: the budget is spent after 1 iteration", "git ward directive edit D-1"},
		"own tokens":             {loop.ExitBudgetExceeded, loop.MaxToolCalls, none, "max_tokens", failed, loop.Capped, "Stopped: the budget is spent after 1 iteration", "git ward directive edit D-1"},
		"backpressure":           {loop.ExitBlocked, loop.BackpressureSignal, none, "", record(uow.ZombiedSoft, uow.Backpressure), loop.Pressed, "Blocked: so it was.", "git ward uow retry D-1.1"},
		"no verdict":             {loop.ExitBlocked, loop.VerdictUnavailable, nil, "", record(uow.ZombiedSoft, uow.VerdictTimeout), loop.Unjudged, "Blocked: so it was.", "git ward uow retry D-1.1"},
		"nothing made":           {loop.ExitBlocked, loop.EvidenceIncomplete, nil, "", record(uow.ZombiedSoft, "LOOP_BLOCKED"), loop.NothingMade, "Blocked: so it was.", "git ward uow clarify D-1.1"},
		"nothing, no more":       {loop.ExitBlocked, loop.EvidenceIncomplete, nil, "", spent, loop.NothingMade, "Blocked: so it was.", "git ward directive edit D-1"},
		"broken":                 {loop.ExitBlocked, loop.InvariantViolation, none, "", record(uow.ZombiedSoft, "LOOP_BLOCKED"), loop.Stuck, "Blocked: so it was.", "git ward uow clarify D-1.1"},
		"blocked, no tool":       {loop.ExitBlocked, loop.ToolMissing, missing, "", record(uow.ZombiedSoft, uow.NoTool), loop.NoTool, "Stopped after 1 iteration: what decides could not be run", "git ward uow retry D-1.1"},
		"a step lacks a program": {loop.ExitBlocked, loop.ToolMissing, none, "", record(uow.ZombiedSoft, uow.NoTool), loop.NoProgram, "Blocked: so it was.", "git ward uow retry D-1.1"},
		"nothing declared":       {loop.ExitNeedInfo, loop.NullInput, nil, "", record(uow.PendingApproval, uow.NeedInfo), loop.Undeclared, "Not begun: the directive does not say how I can tell", "git ward directive edit D-1"},
		"not included":           {loop.ExitNeedInfo, loop.NotIncluded, judged(loop.None, func(v *loop.Verdict) { v.NotIncluded, v.Left = true, []loop.Left{{Path: "zz_test.go", Kind: "added"}} }), "", record(uow.PendingApproval, uow.NotIncluded), loop.NotTaken, "Nobody but you can say", "git ward include D-1"},
	} {
		o := loop.Outcomes{Declaration: declared, Status: c.status, Decision: loop.Decision{Reason: c.reason, Words: "so it was"}, State: loop.BudgetCheck,
			Verdict: c.verdict, Over: c.over, Limit: c.over, Missing: []string{"acceptance_criteria"}, Rung: loop.Rung641}
		if c.verdict != nil || c.status != loop.ExitNeedInfo {
			o.Last, o.History = &loop.Certificate{Type: word(c.verdict), Lane: loop.LaneA, Residual: unknown}, []loop.Residual{one}
		}
		if c.verdict != nil {
			o.Last.Left = c.verdict.LeftWords()
		}
		report := loop.NewReport(o)
		e := Ending{Report: report, Unit: c.unit, Verdict: c.verdict, Branch: "agent/D-1", Record: "refs/ward/record/D-1.1", Said: "I did\x1b[2J it\n\n## Reports\n",
			Criteria: Criteria([][2]string{{"it is (`true`)", "true"}, {"it looks good", ""}}, c.verdict), Changes: []Change{{Path: "a\x1b.go", New: File, Added: 3}}}
		text := e.Text()
		if report.Cause != c.cause {
			t.Errorf("%s: the cause is %s, want %s", name, report.Cause, c.cause)
		}
		said, rest, _ := strings.Cut(text, "\n\n"+c.first)
		if rest == "" || !strings.HasPrefix(said, "The agent says:\n\n    I did") {
			t.Errorf("%s: it does not begin with the agent's words and then %q:\n%s", name, c.first, text)
		}
		_, next, _ := strings.Cut(text, "\nNext: ")
		if !strings.HasPrefix(next, c.next+" (") {
			t.Errorf("%s: next is %q, want %q", name, strings.SplitN(next, "\n", 2)[0], c.next)
		}
		rows[name] = fmt.Sprintf("| %s | %s | %s | `%s` |\n", name, c.status, report.Cause.By(), strings.SplitN(next, " (", 2)[0])
		if move := c.unit.Next(); move != "" && move != c.next {
			t.Errorf("%s: uow list says %q, the report %q", name, move, c.next)
		}
		if s := Stand(Position{Name: "D-1", Directive: directive, Unit: c.unit, Verdict: c.verdict, Reported: reported(c.unit)}); !strings.HasPrefix(s.Next+", ", c.next+", ") && s.WaitsFor == "you" {
			t.Errorf("%s: directive list says %q, the report %q", name, s.Next, c.next)
		}
		for _, never := range []string{"git merge", "\x1b", "{d}", "{u}", "{what}", "{again}", "\n## "} {
			if strings.Contains(text, never) {
				t.Errorf("%s: it says %q:\n%s", name, never, text)
			}
		}
		if (c.cause == loop.Iterations) != strings.Contains(text, "raises max_iterations") {
			t.Errorf("%s: more iterations are advised, or are not:\n%s", name, text)
		}
		if (c.cause == loop.Capped) != strings.Contains(text, "raises max_tokens") || c.cause == loop.Capped && strings.Contains(text, "config.toml") {
			t.Errorf("%s: the directive's own limit is not what is advised:\n%s", name, text)
		}
		if len(text) > 16<<10 {
			t.Errorf("%s: %d bytes", name, len(text))
		}
	}
	table := endsStart
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		table += rows[name]
	}
	const path = "../../docs/pm.md"
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(doc), endsStart)
	end := strings.Index(rest, "\n\n")
	if !ok || end < 0 {
		t.Fatalf("%s has no table of ends", path)
	}
	if endsStart+rest[:end+1] == table {
		return
	}
	if os.Getenv("WARD_UPDATE") == "" {
		t.Errorf("%s has another table of ends; WARD_UPDATE=1 writes this one:\n%s", path, table)
	} else if err := os.WriteFile(path, []byte(head+table+rest[end+1:]), 0o644); err != nil {
		t.Fatal(err)
	}
}

// endsStart begins the table of ends in docs/pm.md.
const endsStart = "| the end | status | who can mend it | `Next:` |\n| --- | --- | --- | --- |\n"

// TestEndingTells: failed, skipped and not run are three things; what is long is cut and
// says so; unknown is unknown.
func TestEndingTells(t *testing.T) {
	var many []Change
	for range 30 {
		many = append(many, Change{Path: "x", New: File, Added: 1})
	}
	seconds := int64(12)
	e := Ending{Report: loop.Report{LoopID: "D-1.1", Status: loop.ExitBudgetExceeded, StopReason: loop.MaxIters, Iterations: 1, NextActions: []string{"git ward review D-1 (shows it)"}},
		Criteria: []Criterion{{Text: "a (`true`)", Command: "true", Result: "met"}, {Text: "b", Command: "false", Result: "not met", ExitCode: new(int), Tail: "FAIL: b\n"},
			{Text: "c (`slow`)", Command: "slow", Result: "not met", Trouble: "it took more than 10m0s"}, {Text: "d", Result: "not run"}},
		Changes: many, Said: strings.Repeat("word ", 4000), Cost: Cost{Iterations: 1, Allowed: 10, Seconds: &seconds}, Branch: "agent/D-1", Record: "r"}
	text := e.Text()
	for _, want := range []string{"- met: a (`true`)\n", "- not met (exit 0): b (`false`)\n    FAIL: b\n", "- not met (it took more than 10m0s): c (`slow`)\n", "- not run: d\n",
		"30 files changed, +30 -0 lines.\n", "and 10 files more\n", "Cost: 1 of 10 iterations, 12 s, tokens not counted.\n", "Next: git ward review D-1 (shows it)\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, diag.Cut(text, 6000))
		}
	}
	e.Project = "main"
	if text := e.Text(); strings.Contains(text, "Next:") || !strings.Contains(text, "It is in main.") {
		t.Errorf("what is taken needs nothing:\n%s", diag.Cut(text, 6000))
	}
	e.Changes = nil // the claimed commit is the project's own
	if text := e.Text(); !strings.Contains(text, "Next: git ward review D-1 (shows it)\n") {
		t.Errorf("a claim of nothing is not taken work:\n%s", diag.Cut(text, 6000))
	}
}

// TestDoubts: what a verdict names against its own word is said first, by the report of the
// loop's end and by the review, and the report's advice is to look at it.
func TestDoubts(t *testing.T) {
	for words, doubt := range looptest.Doubtful {
		v := verdict(loop.Exact)
		doubt(v)
		report := loop.NewReport(loop.Outcomes{Declaration: loop.Declaration{LoopID: "D-1.1"}, Status: loop.ExitConverged, Verdict: v, Last: &loop.Certificate{Type: loop.Exact}})
		if report.Cause != loop.Doubted || !strings.Contains(report.NextActions[0], words) {
			t.Errorf("%s: %s, %q", words, report.Cause, report.NextActions)
		}
		_, first, _ := strings.Cut(Ending{Report: report, Verdict: v}.Text(), "Look first at:\n")
		if first, _, _ = strings.Cut(first, "\n\n"); !strings.Contains(first, words) {
			t.Errorf("%s: the report has at first: %s", words, first)
		}
		if r := (&Review{Word: v}); !strings.Contains(r.First(), words) {
			t.Errorf("%s: the review has at first: %s", words, r.First())
		}
	}
}

// word is a verdict's, NONE for none.
func word(v *loop.Verdict) string {
	if v == nil {
		return loop.None
	}
	return v.Verdict
}

// reported is what a report with an exit makes of the directive of a unit.
func reported(r *uow.Record) comms.State {
	if r.State.Ended() {
		return comms.Closed
	}
	return comms.Suspended
}
