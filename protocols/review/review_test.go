package review

import (
	"slices"
	"strings"
	"testing"

	"git-ward/internal/diag"
	"git-ward/internal/gittest"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

const head = "# COMMS\n\n## Directives\n\n### D-1: make \x1b[2Jit\n\n- [ ] it is (`true`)\n- [ ] it looks good\n\n## Reports\n"

var directive = func() *comms.Directive {
	doc, _ := comms.Parse([]byte(head))
	return doc.Directive("D-1")
}()

var (
	commit  = strings.Repeat("c", 40)
	project = strings.Repeat("b", 40)
)

// unit is a unit's newest record.
func unit(state uow.State, claimed bool) *uow.Record {
	r := &uow.Record{ID: "D-1.1", Directive: "D-1", DirectiveHash: directive.Hash(), State: state, Layout: uow.Layout, Policy: uow.DefaultPolicy(), Iteration: 2}
	if claimed {
		r.Claim = &uow.Claim{Commit: commit, Iteration: 2}
	}
	return r
}

func verdict(word string) *loop.Verdict {
	return &loop.Verdict{Unit: "D-1.1", DirectiveHash: directive.Hash(), Commit: commit, Verdict: word, Reason: "because", Agree: true, Trials: 2,
		Criteria: []loop.Outcome{{Criterion: "it is (`true`)", Command: "true", Met: word == loop.Exact, ExitCode: map[bool]int{false: 7}[word == loop.Exact], Tail: "last\x1b[2J line\n"}}}
}

// Where a directive stands, for whom it waits, and the first line about it.
func TestStand(t *testing.T) {
	report := func(s comms.Status) *comms.Report { return &comms.Report{Directive: "D-1", Status: s} }
	edited := unit(uow.Archived, true)
	edited.DirectiveHash = strings.Repeat("0", 64)
	other := verdict(loop.Exact)
	other.DirectiveHash = edited.DirectiveHash
	claiming := unit(uow.Active, true)
	claiming.Event = uow.MakeClaim
	waiting := unit(uow.ZombiedSoft, false)
	waiting.ReasonCode = "AMBIGUITY_LOCK"
	passing := unit(uow.ZombiedSoft, false)
	passing.ReasonCode = uow.Backpressure
	stale := func(state uow.State) *uow.Record { // of another text
		r := unit(state, false)
		r.DirectiveHash, r.ReasonCode = edited.DirectiveHash, uow.NeedInfo
		return r
	}
	for name, test := range map[string]struct {
		p       Position
		state   State
		waits   string
		outcome string
	}{
		"new":                {Position{Directive: directive}, Open, "agent", "not begun"},
		"after others":       {Position{Directive: directive, After: []string{"D-3"}}, Open, "after", "not begun"},
		"at work, and after": {Position{Directive: directive, Unit: unit(uow.Active, false), After: []string{"D-3"}}, Working, "after", "in progress"},
		"asks, and after":    {Position{Directive: directive, Unit: unit(uow.PendingApproval, false), Reported: comms.Suspended, After: []string{"D-3"}}, Waiting, "you", "waiting for you"},
		"at work":            {Position{Directive: directive, Unit: unit(uow.Active, false)}, Working, "agent", "in progress: D-1.1, iteration 2"},
		"claimed":            {Position{Directive: directive, Unit: claiming}, Working, "host", "in progress: D-1.1, iteration 2; no verdict yet"},
		"asks":               {Position{Directive: directive, Unit: unit(uow.PendingApproval, false), Reported: comms.Suspended}, Waiting, "you", "waiting for you: D-1.1, iteration 2, asks for your word"},
		"blocked":            {Position{Directive: directive, Unit: waiting, Reported: comms.Suspended}, Waiting, "you", "waiting for you"},
		"an outage":          {Position{Directive: directive, Unit: passing}, Working, "agent", "in progress"},
		"asks without units": {Position{Directive: directive, Reported: comms.Suspended}, Waiting, "you", "waiting for you"},
		"proved":             {Position{Directive: directive, Unit: unit(uow.Archived, true), Verdict: verdict(loop.Exact), Reported: comms.Closed, Report: report(comms.ExitConverged)}, Ready, "you", "ready to take; proved: because"},
		"not proved":         {Position{Directive: directive, Unit: unit(uow.Archived, true), Verdict: verdict(loop.None), Reported: comms.Closed, Report: report(comms.ExitDiverged)}, Unproved, "you", "ended without proof; stopped: it got worse and worse; not proved: because"},
		"edited":             {Position{Directive: directive, Unit: edited, Verdict: other, Reported: comms.Open}, Open, "agent", "not begun; proved for another text of it: because"},
		"asked, and edited":  {Position{Directive: directive, Unit: stale(uow.PendingApproval)}, Working, "agent", "in progress"},
		"paused, and edited": {Position{Directive: directive, Unit: stale(uow.Paused)}, Waiting, "you", "waiting for you"},
		"taken":              {Position{Directive: directive, Unit: unit(uow.Archived, true), Verdict: verdict(loop.Exact), Taken: project, Reported: comms.Closed}, Taken, "", "taken by bbbbbbbbbbbb; proved: because"},
		"taken and edited":   {Position{Directive: directive, Unit: edited, Verdict: other, Taken: project}, Open, "agent", "not begun"},
		"dropped":            {Position{Directive: directive, Dropped: true, Reported: comms.Closed}, Dropped, "", "dropped"},
		"gone":               {Position{Unit: unit(uow.Archived, true), Verdict: verdict(loop.Exact)}, Gone, "", "no longer in COMMS.md; proved: because"},
		"reported next":      {Position{Directive: directive, Unit: unit(uow.Archived, false)}, Working, "agent", "in progress"},
		"a dead letter":      {Position{Directive: directive, Unit: unit(uow.ZombiedDead, false), Reported: comms.Suspended}, Waiting, "you", "waiting for you"},
	} {
		test.p.Name = "D-1"
		s := Stand(test.p)
		if out := test.p.Outcome(s); s.State != test.state || s.WaitsFor != test.waits || !strings.HasPrefix(out, test.outcome) {
			t.Errorf("%s: %s, waits for %q, %q", name, s.State, s.WaitsFor, out)
		}
		if (s.WaitsFor == "you") != (s.Next != "") {
			t.Errorf("%s: waits for %q and the command is %q", name, s.WaitsFor, s.Next)
		}
		if (s.WaitsFor == "you") != (s.Waits.For == uow.ForYou) || (s.WaitsFor == "") != (s.WaitsWords() == "") || s.WaitsFor != "" && s.Waits.Why == "" {
			t.Errorf("%s: waits for %q, in words for %q", name, s.WaitsFor, s.WaitsWords())
		}
	}
}

// ready is a review of work that can be taken.
func ready(change func(r *Review)) *Review {
	p := Position{Name: "D-1", Directive: directive, Unit: unit(uow.Archived, true), Verdict: verdict(loop.Exact), Reported: comms.Closed, Branch: commit}
	r := &Review{Standing: Stand(p), Word: p.Verdict, Project: project, Base: project, Merge: Merge{Judged: true}, Record: "refs/ward/record/D-1.1"}
	r.Outcome = p.Outcome(r.Standing)
	r.Criteria = Criteria([][2]string{{"it is (`true`)", "true"}, {"it looks good", ""}}, p.Verdict)
	if change != nil {
		change(r)
	}
	return r
}

// Work is taken on its verdict, and on nothing else.
func TestObstacle(t *testing.T) {
	for why, test := range map[string]struct {
		change func(r *Review)
		wanted string
	}{
		"":                            {nil, ""},
		" ":                           {nil, "CCCCCCC"},
		"there is no work on D-1 yet": {func(r *Review) { r.Commit = "" }, ""},
		"COMMS.md has no D-1":         {func(r *Review) { r.State = Gone }, ""},
		"D-1 was dropped":             {func(r *Review) { r.State = Dropped }, ""},
		"without a unit of work":      {func(r *Review) { r.Unit = "" }, ""},
		"claimed nothing yet":         {func(r *Review) { r.Claimed = false }, ""},
		"and not ddddddd":             {nil, "ddddddd"},
		"has no verdict yet":          {func(r *Review) { r.Word = nil }, ""},
		"for another text":            {func(r *Review) { r.Current = false }, ""},
		"is NONE":                     {func(r *Review) { r.Word = verdict(loop.None) }, ""},
		"for another commit":          {func(r *Review) { r.Word.Commit = project }, ""},
		"for another commit or unit":  {func(r *Review) { r.Word.Unit = "D-1.2" }, ""},
		"conflicts with what":         {func(r *Review) { r.Merge = Merge{Conflicts: []diag.Untrusted{"a\x1b"}} }, ""},
		"shares no history":           {func(r *Review) { r.Merge = Merge{Unrelated: true} }, ""},
		"  ":                          {func(r *Review) { r.Merge = Merge{Beside: []diag.Untrusted{"x"}} }, ""},
	} {
		o := ready(test.change).Obstacle(test.wanted)
		if want := strings.TrimSpace(why); want == "" && o.Why != "" || !strings.Contains(o.Why, want) || strings.ContainsRune(o.Why, '\x1b') {
			t.Errorf("%q: %+v", why, o)
		}
	}
	for i, left := range [][]loop.Left{nil, {{Path: "a.js"}}, {{Path: "a.js"}}} {
		r := ready(func(r *Review) {
			r.Word = verdict(loop.None)
			r.Word.Left, r.Word.NotIncluded = left, i == 2 // it holds with what was left out
		})
		if o := r.Obstacle(""); strings.Contains(o.Hint, "git ward include D-1 ") != (left != nil) || strings.Contains(o.Hint, "directive edit") == (i == 2) {
			t.Errorf("with %v left out, %d: %+v", left, i, o)
		}
		r.State = Working // the PM's word is there, and the agent goes on
		if o := r.Obstacle(""); !strings.Contains(o.Hint, "git ward uow show D-1.1") || strings.Contains(o.Hint, "include") {
			t.Errorf("at work, with %v left out: %+v", left, o)
		}
		r.State, r.Next = Waiting, "git ward include D-1" // one advice: take names the command that everything else names
		if o := r.Obstacle(""); !strings.Contains(o.Hint, "git ward include D-1 ") || strings.Contains(o.Hint, "directive edit") {
			t.Errorf("it waits, with %v left out: %+v", left, o)
		}
	}
	r := ready(func(r *Review) {
		r.Merge = Merge{Beside: []diag.Untrusted{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}}
	})
	if o := r.Stays(nil); !strings.Contains(o.Why, "(a, b, c, d, e, f, g, h, and 2 more changed beside it)") || !strings.Contains(o.Hint, "git ward take --unjudged D-1.1") {
		t.Errorf("not judged yet: %+v", o)
	}
	if o := r.Stays(&loop.Verdict{Reason: "not met\x1b"}); !strings.HasSuffix(o.Why, `it does not hold: not met\x1b`) {
		t.Errorf("judged: %+v", o)
	}
}

func TestTakeMessage(t *testing.T) {
	r := ready(func(r *Review) {
		r.Title = diag.Untrusted("a\nb " + strings.Repeat("é", 60))
		r.Word.Assisted = []string{"ward-agent:claude-x"}
	})
	merge, squash := r.TakeMessage(false, nil), r.TakeMessage(true, []string{"one \x1b", "two"})
	first, _, _ := strings.Cut(merge, "\n")
	if len(first) > 72 || !strings.HasPrefix(first, `Merge D-1: a\nb é`) || !strings.HasSuffix(merge, "\n\nAssisted-by: ward-agent:claude-x\nWard-Directive: D-1\nWard-Record: refs/ward/record/D-1.1") {
		t.Errorf("%s", merge)
	}
	if !strings.HasPrefix(squash, "D-1: a") || !strings.Contains(squash, "\n\n- one \\x1b\n- two\n\n") || !strings.HasSuffix(squash, "\nWard-Taken: "+commit) {
		t.Errorf("%s", squash)
	}
}

func TestFiles(t *testing.T) {
	changes := []Change{
		{Path: "a.go", Old: File, New: File, Added: 300, Deleted: 1}, {Path: "new.go", New: File, Added: 3}, {Path: "run.sh", Old: File, New: Program},
		{Path: "gone", Old: Program, Deleted: 2}, {Path: "l\x1b", New: Link, Added: 1, Target: "/etc\n"}, {Path: "sub", New: Submodule},
		{Path: "x.bin", Old: File, New: File, Binary: true, OldSize: 3, NewSize: 9}, {Path: "pkg/a_test.go", New: File}, {Path: "fixed/deep/x", New: File},
	}
	want := []string{
		" a.go          |  301 +++++++++++++++++++++++++++++++++++++++-",
		" new.go        |    3 + (new)",
		" run.sh        |    0 (file -> executable)",
		" gone          |    2 - (deleted)",
		` l\x1b         |    1 + (new, link, to /etc\n)`,
		" sub           |    0 (new, submodule)",
		" x.bin         |  bin 3 -> 9 bytes",
		" pkg/a_test.go |    0 (new)",
		" fixed/deep/x  |    0 (new)",
	}
	for i, line := range Stat(changes) {
		if line != want[i] {
			t.Errorf("%q, want %q", line, want[i])
		}
	}
	if got := Summary(changes); got != "9 files changed, +304 -3 lines" {
		t.Error(got)
	}
	touched := Touch(changes, func(p string) bool { return p == "run.sh" }, func(p string) bool { return p == "gone" }, func(p string) bool { return InGlobs([]string{"**/*_test.go", "fixed/**"}, p) }, map[string]Kind{"run.sh": File, "a.go": Program, "pkg": Directory, "fixed": File, "sub": Directory, "new.go": Link})
	if !slices.Equal(touched.Protected, []diag.Untrusted{"run.sh"}) || !slices.Equal(touched.Instructions, []diag.Untrusted{"gone"}) ||
		!slices.Equal(touched.Tests, []diag.Untrusted{"pkg/a_test.go", "fixed/deep/x"}) {
		t.Errorf("%+v", touched)
	}
	if want := []diag.Untrusted{"new.go", "l\x1b", "sub", "x.bin", "fixed"}; !slices.Equal(touched.NewAtRoot, want) { // also what is of another kind there
		t.Errorf("new at the root: %q, want %q", touched.NewAtRoot, want)
	}
}

// The text of a review has its parts in their order, and what nobody may miss in its
// second line; unknown costs are unknown.
func TestText(t *testing.T) {
	calls, tokens, money := int64(9), int64(1200), "0.25"
	r := ready(func(r *Review) {
		r.Word = verdict(loop.None)
		r.Word.Left, r.Word.Deviations, r.Word.Included, r.Word.Process, r.Word.Fence = []loop.Left{{Path: "GNUmakefile", Kind: "added"}}, []string{"a_test.go\x1b"}, []string{"ok.py"}, loop.SameProcess, loop.FenceNone
		r.Criteria = Criteria([][2]string{{"it is (`true`)", "true"}, {"it looks good", ""}}, r.Word)
		r.Changes = []Change{{Path: "a.go", New: File, Added: 2}}
		r.Touched = Touched{Protected: []diag.Untrusted{".github/x"}, Instructions: []diag.Untrusted{"CLAUDE.md"}, Tests: []diag.Untrusted{"GNUmakefile", "a_test.go"}}
		r.Said = []Said{{"R-1 EXIT_CONVERGED", "all done\nnext: git ward take D-1"}}
		r.Cost = Cost{Iterations: 2, Allowed: 3, Claims: 2, ToolCalls: &calls}
		r.Cost.Bound(comms.Options{MaxTokens: 9000, MaxCost: "1.50"})
		r.Commands = []string{"git ward take D-1.1", "git ward drop D-1"}
	})
	r.Word.Cache = "go of main's 0; the claim has another go.mod"
	above, below := joined(r.Above()), joined(r.Below())
	gittest.InOrder(t, above, "D-1 make \\x1b[2Jit: ", "\nlook first\n", "not work, so left out of the deciding run: GNUmakefile (added)\n", "only by that very path, without a pattern", "restored for the verdict: a_test.go", "judged without a fence\n",
		"instructs coding agents: CLAUDE.md\n", "protected, because it runs code or steers tools: .github/x\n", "work by your word: ok.py\n", "dependencies from the cache: go of main's 0; the claim has another go.mod\n",
		"criteria, as the host ran them", "not met  exit 7   it is (`true`)  criteria[0]", `| last\x1b[2J line`, "not run", "it looks good", "same process",
		"D-1.1 claims "+diag.Short(commit)+"\n", "a.go |    2 ++ (new)")
	for _, once := range []string{"GNUmakefile", "CLAUDE.md", "a.go", diag.Short(commit) + "\n"} {
		if n := strings.Count(above, once); n != 1 {
			t.Errorf("%s is named %d times:\n%s", once, n, above)
		}
	}
	gittest.InOrder(t, below, "the agent's own word, proved by nothing (R-1 EXIT_CONVERGED):", "    all done\n    next: git ward take D-1\n",
		"cost: 2 of 3 iterations, 2 claims, 9 tool calls, unknown of 9,000 tokens, unknown of $1.50", "\nnext: git ward take D-1.1\n", "  or: git ward drop D-1\n")
	r.Word.Criteria[0].Process, r.Word.Process = loop.SeparateProcess, loop.SeparateProcess
	r.Criteria = Criteria([][2]string{{"it is (`true`)", "true"}}, r.Word)
	gittest.InOrder(t, joined(r.Above()), "criteria[0]\n", "separate: each criterion")
	r.Cost.Tokens, r.Cost.Money, r.Cost.Estimated = &tokens, &money, 1
	if words := r.Cost.Words(); !strings.HasSuffix(words, "1,200 of 9,000 tokens (1 call of them estimated), $0.25 of $1.50") {
		t.Error(words)
	}
	for name, want := range map[string][]string{
		"judged":   {"git ward take D-1.1", "git ward drop D-1"},
		"unjudged": {"git ward take D-1.1 (the project has moved on, so the host judges the merged tree first)", "git ward uow fork D-1.1 (the agent goes on from there)", "git ward drop D-1"},
		"clash":    {"git ward uow fork D-1.1 (the agent merges the project)", "git ward drop D-1"},
		"none":     {"git ward directive edit D-1", "git ward drop D-1"},
		"waits":    {"git ward directive edit D-1 (raises a limit)", "git ward drop D-1"},
		"left":     {"git ward directive edit D-1", "git ward include D-1 (takes in what was left out, for what is claimed next)", "git ward drop D-1"},
	} {
		offers := ready(func(r *Review) {
			switch name {
			case "unjudged":
				r.Merge = Merge{}
			case "clash":
				r.Merge = Merge{Conflicts: []diag.Untrusted{"x"}}
			case "waits":
				r.State, r.Next = Waiting, "git ward directive edit D-1 (raises a limit)"
			case "none":
				r.Word = verdict(loop.None)
			case "left":
				r.Word = verdict(loop.None)
				r.Word.Left = []loop.Left{{Path: "go.mod", Kind: "changed"}}
			}
		}).Offers()
		if !slices.Equal(offers, want) {
			t.Errorf("%s: %q", name, offers)
		}
	}
}

func joined(lines []Line) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(line.Text + "\n")
	}
	return b.String()
}

// TestHeard: the agent's words are shown once, without the report that Ward made of them, and
// what is long is folded.
func TestHeard(t *testing.T) {
	r := &Review{Standing: Standing{Directive: "D-1", Unit: "D-1.1"}, Said: []Said{
		{"the end of iteration 1 of D-1.1", diag.Untrusted("I did it.\n" + strings.Repeat("And more.\n", 20))},
		{"R-1 EXIT_CONVERGED", "The agent says:\n\n    I did it.\n\nDone: every criterion is met."},
		{"commit cccccccccccc", "I did it.\n\nWard-Directive: D-1\nWard-Iteration: 1\n"},
	}}
	below := joined(r.Below())
	if strings.Count(below, "I did it.") != 1 || strings.Count(below, "And more.") != maxHeard-1 || strings.Contains(below, "Ward-") {
		t.Error(below)
	}
	gittest.InOrder(t, below, "(the end of iteration 1 of D-1.1):\n    I did it.\n", "    (9 lines more: git ward directive show D-1)\n")
	r.Said = r.Said[1:]
	r.Said[1].Text = "mend the total\n\nWard-Directive: D-1\n"
	gittest.InOrder(t, joined(r.Below()), "(R-1 EXIT_CONVERGED):\n", "(commit cccccccccccc):\n    mend the total\n")
}

// TestCriteriaSayControls: each criterion's line has what its control came to, and whether it
// held before.
func TestCriteriaSayControls(t *testing.T) {
	v := verdict(loop.Exact)
	v.Criteria[0].Control = loop.ControlNotTried
	v.Criteria = append(v.Criteria, loop.Outcome{Criterion: "and stays", Met: true, Before: true}, loop.Outcome{Criterion: "and runs", Met: true, Before: true, Control: loop.ControlNotTried})
	r := &Review{Word: v, Criteria: Criteria([][2]string{{"it is (`true`)", "true"}}, v)}
	gittest.InOrder(t, joined(r.Above()), "\nlook first\n  criterion that was not shown to be able to fail: it is (`true`)\n",
		"  met      exit 0   it is (`true`)  criteria[0]; no control: nothing that Ward can break decides it, and whether it can fail was not tried (- breaks: COMMAND in the directive tries it)\n",
		"and stays  criteria[1]; it held before the work\n", "and runs  criteria[2]; no control: ")
}

// TestSaysWhatever: a comparison that holds with any value is shown with its line, and how many
// of how many were asked.
func TestSaysWhatever(t *testing.T) {
	r := Review{Word: &loop.Verdict{Observed: loop.Observed{Whatever: []string{"calc_test.go:7: 2"}, Asked: 16, Comparisons: 40}}}
	gittest.InOrder(t, joined(r.Above()), "  comparison that holds with any value: calc_test.go:7: 2\n", "  of 40 comparisons with a value, 16 were tried with another one\n")
}

// TestFirstCounts: what stands first counts as people do.
func TestFirstCounts(t *testing.T) {
	r := Review{Word: &loop.Verdict{Left: []loop.Left{{Path: "a", Kind: "added"}, {Path: "b", Kind: "deleted"}}, Deviations: []string{"c", "d"}, Observed: loop.Observed{Lost: []string{"TestA", "TestB"}}}}
	r.Touched.Instructions = []diag.Untrusted{"CLAUDE.md", "AGENTS.md"}
	if got, want := r.First(), "2 paths that are no work, a (added), b (deleted); 2 deviations put back; 2 lost tests: TestA, TestB; 2 files of instructions to agents"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}

// TestSaysWhy: what ended without proof says why in words, and what counts only by a word of the
// PM's says what it is about; no hash, no name of a verdict, no escape.
func TestSaysWhy(t *testing.T) {
	directive := &comms.Directive{ID: 1}
	hash := directive.Hash()
	unit := func(state uow.State, reason uow.Reason) *uow.Record {
		return &uow.Record{ID: "D-1.1", Directive: "D-1", DirectiveHash: hash, State: state, ReasonCode: reason, Claim: &uow.Claim{Commit: strings.Repeat("c", 40)}, Policy: uow.DefaultPolicy()}
	}
	none := func(change func(*loop.Verdict)) *loop.Verdict {
		v := &loop.Verdict{Unit: "D-1.1", DirectiveHash: hash, Verdict: loop.None, Reason: "not met: all\ttests pass\nexit 1"}
		change(v)
		return v
	}
	same := func(*loop.Verdict) {}
	ended := unit(uow.Archived, "")
	for want, p := range map[string]Position{
		"you, it ended without proof: not met: all tests pass exit 1: git ward directive edit D-1":                      {Unit: ended, Verdict: none(same)},
		"you, it ended without proof: the budget is spent; not met: all tests pass exit 1: git ward directive edit D-1": {Unit: ended, Verdict: none(same), Report: &comms.Report{Status: comms.ExitBudgetExceeded}},
		"you, it ended without proof: it got worse and worse: git ward directive edit D-1":                              {Unit: ended, Report: &comms.Report{Status: comms.ExitDiverged}},
		"you, it was cancelled, and is not closed: git ward directive edit D-1":                                         {Unit: ended, Report: &comms.Report{Status: comms.ExitCancelled}},
		"you, it ended, and no verdict proves it: git ward directive edit D-1":                                          {Unit: ended, Report: &comms.Report{Status: comms.Done}},
		"you, it ended, and was judged for another text of the directive only: git ward directive edit D-1":             {Unit: ended, Verdict: none(func(v *loop.Verdict) { v.DirectiveHash = "another" })},
		"you, it passes only with changes that are not its work: a_test.go (changed): git ward include D-1":             {Unit: unit(uow.PendingApproval, uow.NotIncluded), Verdict: none(func(v *loop.Verdict) { v.Left = []loop.Left{{Path: "a_test.go", Kind: "changed"}} })},
		"you, every criterion held before the work, so only you can say that it is done: git ward include D-1":          {Unit: unit(uow.PendingApproval, uow.NotIncluded), Verdict: none(func(v *loop.Verdict) { v.OnlyGuards = true })},
		"you, only you can say whether its claim counts: git ward include D-1":                                          {Unit: unit(uow.PendingApproval, uow.NotIncluded)},
	} {
		p.Name, p.Directive, p.Reported = "D-1", directive, comms.Closed
		if got := Stand(p).Waits.String(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
