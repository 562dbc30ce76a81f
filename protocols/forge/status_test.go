package forge

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
)

const claimed = "cccccccccccccccccccccccccccccccccccccccc"

// directive is one as it stands in COMMS.md, with lines below its criterion.
func directive(lines string) *comms.Directive {
	doc, _ := comms.Parse([]byte("# COMMS\n\n## Directives\n\n### D-1: greet\n\n- [ ] it greets (`true`)\n" + lines + "\n## Reports\n"))
	return doc.Directive("D-1")
}

func checkNoOption(t *testing.T, d *comms.Directive) {
	t.Helper()
	if d != nil && !reflect.DeepEqual(d.Options, comms.Options{}) {
		t.Errorf("it has an option: %+v", d.Options)
	}
}

// judged is a head that is proved, but for what change makes of it.
func judged(change func(j *Judged)) Judged {
	d := directive("")
	j := Judged{Head: claimed, Name: "D-1", Directive: d, Unit: "D-1.1", Claim: claimed, Verdict: &loop.Verdict{Unit: "D-1.1", DirectiveHash: d.Hash(),
		Commit: claimed, Verdict: loop.Exact, Reason: "every criterion is met", Agree: true, Trials: 2, Fence: "podman/runc",
		Criteria: []loop.Outcome{{Criterion: "it greets (`true`)", Command: "true", Met: true, Control: loop.ControlFails}}}}
	zero, err := loop.ParseResidual("0\n")
	if err != nil {
		panic(err)
	}
	j.Verdict.Residual = zero
	change(&j)
	return j
}

// TestStatus is the table of FORGE-3: a row for each line of it.
func TestStatus(t *testing.T) {
	no := func(j *Judged) { j.Verdict.Verdict, j.Verdict.Reason = loop.None, "not met: it greets (`true`)" }
	left := []loop.Left{{Path: "a.txt", Kind: "added", Mode: "100644", Blob: strings.Repeat("b", 40)}}
	include := "- include: 100644 " + strings.Repeat("b", 40) + " a.txt\n"
	for name, test := range map[string]struct {
		change func(j *Judged)
		state  State
		words  string // the description, or how it begins
	}{
		"nothing claimed":             {func(j *Judged) { j.Claim, j.Verdict = "", nil }, Pending, "D-1 is in progress, and nothing is claimed yet"},
		"claimed":                     {func(j *Judged) { j.Verdict = nil }, Pending, "D-1.1 claims this commit, and the host judges it"},
		"a person's":                  {func(j *Judged) { *j = Judged{Head: claimed, Others: true} }, Success, "no directive"},
		"a person's, with an agent's": {func(j *Judged) { *j = Judged{Head: claimed, Others: true, Agents: 2} }, Pending, "2 commits of it by an agent: "},
		"EXACT":                       {func(j *Judged) {}, Success, "EXACT: every criterion is met"},
		"CONVERGED":                   {converged, Success, "CONVERGED: the residual 0.1 is below R_p 1"},
		"EXACT, without a fence":      {func(j *Judged) { j.Verdict.Fence = loop.FenceNone }, Success, "EXACT: every criterion is met; judged without a fence"},
		"EXACT, not all known":        {func(j *Judged) { j.Verdict.RewrittenNot = "no observer" }, Success, "EXACT: every criterion is met; 1 thing is not known, see the request"},
		"NONE":                        {no, Failure, "NONE: not met: it greets (`true`)"},
		"NONE, but for a word":        {func(j *Judged) { no(j); j.Verdict.NotIncluded, j.Verdict.Left = true, left }, Failure, "NONE: it holds only by your word, /ward include: not met"},
		"guards only":                 {func(j *Judged) { no(j); j.Verdict.OnlyGuards = true }, Failure, "NONE: it holds only by your word"},
		"a cheat: lost test":          {func(j *Judged) { j.Verdict.Lost = []string{"TestA"} }, Failure, "EXACT, and against it: 1 lost test: TestA"},
		"a cheat: any value":          {func(j *Judged) { j.Verdict.Whatever = []string{"a_test.go:3"} }, Failure, "EXACT, and against it: 1 comparison that holds with any value"},
		"a cheat: rewrites":           {func(j *Judged) { j.Verdict.Rewritten = []string{"x"} }, Failure, "EXACT, and against it: 1 file outside the work"},
		"a cheat: looks away":         {func(j *Judged) { j.Verdict.NotOpened = []string{"x"} }, Failure, "EXACT, and against it: 1 file that a command opened without the work"},
		"no verdict to be had":        {func(j *Judged) { j.Verdict, j.Never = nil, "no image" }, Error, "no verdict is possible: no image"},
		"none without a claim":        {func(j *Judged) { j.Verdict, j.Claim, j.Never = nil, "", "D-1.1 was cancelled" }, Error, "no verdict is possible: D-1.1 was cancelled"},
		"a tool is missing":           {func(j *Judged) { no(j); j.Verdict.MissingTool = &loop.MissingTool{} }, Error, "no verdict is possible: not met"},
		"not sound":                   {func(j *Judged) { j.Verdict.Criteria[0].Met = false }, Error, "EXACT does not follow from its runs"},
		"runs differ":                 {func(j *Judged) { j.Verdict.Agree = false }, Error, "EXACT does not follow from its runs"},
		"a probation":                 {func(j *Judged) { no(j); j.Verdict.Untried = true }, Pending, "all is met, and the program's probation is not over"},
		"changed text":                {func(j *Judged) { j.Directive = directive("\nand more\n") }, Pending, "the text of D-1 changed since the verdict"},
		"dropped":                     {func(j *Judged) { j.Directive = nil }, Error, "D-1 is dropped, or no longer listed"},
		"another commit is claimed":   {func(j *Judged) { j.Claim = strings.Repeat("d", 40) }, Pending, "D-1.1 claims dddddddddddd, which is another commit"},
		"a newer head":                {func(j *Judged) { j.Head = strings.Repeat("d", 40) }, Pending, "D-1.1 claims cccccccccccc, which is another commit"},
		"a verdict on another commit": {func(j *Judged) { j.Verdict.Commit = strings.Repeat("d", 40) }, Pending, "the last verdict is on another commit"},
		"another unit's verdict":      {func(j *Judged) { j.Verdict.Unit = "D-1.2" }, Pending, "the last verdict is on another commit"},
		"people's commits":            {func(j *Judged) { j.Head, j.People = strings.Repeat("d", 40), 2 }, Pending, "2 commits by people since the claim: /ward retry goes on from there"},
		"an include after EXACT":      {func(j *Judged) { j.Verdict.Left, j.Directive = left, directive(include) }, Pending, "somebody gave his word since the verdict"},
		"an include after NONE": {func(j *Judged) {
			no(j)
			j.Verdict.NotIncluded, j.Verdict.Left, j.Directive = true, left, directive(include)
		}, Pending,
			"somebody gave his word since the verdict"},
		"guards are enough":       {func(j *Judged) { no(j); j.Verdict.OnlyGuards, j.Directive = true, directive("- guards: enough\n") }, Pending, "somebody gave his word"},
		"an include of something": {func(j *Judged) { j.Verdict.Included, j.Directive = []string{"a.txt"}, directive(include) }, Success, "EXACT: every criterion is met"},
	} {
		state, words := Status(judged(test.change))
		if state != test.state || !strings.HasPrefix(words, test.words) || len(words) > MaxDescription {
			t.Errorf("%s: %s, %q", name, state, words)
		}
	}
}

// converged makes the verdict CONVERGED, as declared.
func converged(j *Judged) {
	v := j.Verdict
	v.Verdict, v.Reason = loop.Converged, "the residual 0.1 is below R_p 1"
	v.Residual, _ = loop.ParseResidual("0.1")
	v.Rp, _ = loop.ParseResidual("1")
}

// TestSuccessNeedsAll: whatever is taken from a proof, the status is no success.
func TestSuccessNeedsAll(t *testing.T) {
	other := strings.Repeat("e", 40)
	less := []func(j *Judged){
		func(j *Judged) { j.Head = other }, func(j *Judged) { j.Claim = other }, func(j *Judged) { j.Verdict = nil }, func(j *Judged) { j.Directive = nil },
		func(j *Judged) { j.Unit = "" }, func(j *Judged) { j.People = 1 }, func(j *Judged) { j.Verdict.Agree = false }, func(j *Judged) { j.Verdict.Trials = 0 },
		func(j *Judged) { j.Verdict.Verdict = "" }, func(j *Judged) { j.Verdict.DirectiveHash = "" }, func(j *Judged) { j.Verdict.Criteria = nil },
		func(j *Judged) { j.Verdict.Suite = &loop.Outcome{ExitCode: 1} }, func(j *Judged) { *j = Judged{} },
	}
	for i, change := range less {
		if state, words := Status(judged(change)); state == Success || !slices.Contains([]State{Pending, Failure, Error}, state) {
			t.Errorf("%d: %s, %s", i, state, words)
		}
	}
}
