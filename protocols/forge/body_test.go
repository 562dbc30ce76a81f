package forge

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/diag"
	"git-ward/protocols/loop"
	"git-ward/protocols/review"
)

var update = flag.Bool("update", false, "write testdata/body as bodies are today")

// hostileRequest is a request with the words wherever words of others can stand.
func hostileRequest(words diag.Untrusted) Request {
	text := diag.Cut(words.Raw(), 64<<10) // no path or certificate has more
	words = diag.Untrusted(text)
	v := judged(func(*Judged) {}).Verdict
	v.Reason, v.Image, v.Fence, v.NotObserved, v.NeverOpened, v.Lost, v.Assisted = text, text, text, text, []string{text}, []string{text}, []string{text}
	v.Left = []loop.Left{{Path: text, Kind: "added"}}
	one := 1
	return Request{Issue: 7, Review: &review.Review{
		Refused:  []review.Refused{{Address: words, Setting: "[egress] allow"}},
		Standing: review.Standing{Directive: "D-1", Title: words, Unit: "D-1.1", Commit: claimed, Claimed: true, Current: true, Verdict: loop.Exact},
		Record:   "refs/ward/record/D-1.1", Word: v,
		Criteria: []review.Criterion{{Text: words, Command: words, Result: "not met", ExitCode: &one}, {Text: words, Command: "true", Result: "not run", Trouble: words}},
		Changes:  []review.Change{{Path: words, New: review.Link, Target: words, Added: 1}},
		Touched:  review.Touched{Protected: []diag.Untrusted{words}, Tests: []diag.Untrusted{words}},
		Said:     []review.Said{{Where: text, Text: words}},
		Cost:     review.Cost{Prices: "2026-11-21"}}}
}

// TestWanted: where a person's word is all that a claim lacks, the body says by which comment he gives
// it, within what a reader sees first.
func TestWanted(t *testing.T) {
	for _, c := range []struct {
		change func(*loop.Verdict)
		want   string
	}{
		{func(v *loop.Verdict) { v.NotIncluded = true }, "comment `/ward include`, or"},
		{func(v *loop.Verdict) { v.OnlyGuards = true }, "comment `/ward include --guards`."},
		{func(v *loop.Verdict) {}, ""},
	} {
		r := requests()["none"]
		c.change(r.Review.Word)
		lines := strings.Split(r.Body(), "\n")
		top := strings.Join(lines[:min(len(lines), Top)], "\n")
		if said := strings.Contains(top, "/ward include"); said != (c.want != "") || !strings.Contains(top, c.want) {
			t.Errorf("%q: %s", c.want, top)
		}
	}
}

// requests are as an agent's work goes on.
func requests() map[string]Request {
	zero, seven, calls, seconds, tokens, money := 0, 7, int64(31), int64(412), int64(123456), "0.42"
	standing := review.Standing{Directive: "D-3", Title: "greet whoever asks", Unit: "D-3.1", State: review.Working, Branch: claimed, Commit: claimed}
	cost := review.Cost{Iterations: 2, Allowed: 8, Claims: 1, ToolCalls: &calls, Seconds: &seconds, Tokens: &tokens, Money: &money, Prices: "2026-11-21"}
	criteria := func(v *loop.Verdict) []review.Criterion {
		return review.Criteria([][2]string{{"it greets (`go test ./greet`)", "go test ./greet"}, {"it is short (`test $(wc -l <greet.go) -lt 99`)", "test $(wc -l <greet.go) -lt 99"}}, v)
	}
	verdict := func(word, reason string, second loop.Outcome) *loop.Verdict {
		second.Criterion, second.Command = "it is short (`test $(wc -l <greet.go) -lt 99`)", "test $(wc -l <greet.go) -lt 99"
		return &loop.Verdict{Verdict: word, Reason: reason, Lane: map[string]loop.Lane{loop.Exact: loop.LaneA, loop.None: loop.LaneC}[word], Commit: claimed, Trials: 2, Agree: true,
			Rung: map[string]int{loop.Exact: loop.Rung274177}[word], Image: "localhost/ward/go:1.26", Fence: "podman/runc", Process: loop.SameProcess,
			Criteria: []loop.Outcome{{Criterion: "it greets (`go test ./greet`)", Command: "go test ./greet", Met: true, Control: loop.ControlFails}, second},
			Observed: loop.Observed{Opened: []string{"greet/greet.go"}, NeverOpened: []string{"docs/greet.md"}}, Assisted: []string{"codex:gpt-5.1"}}
	}
	changes := []review.Change{{Path: "docs/greet.md", New: review.File, Added: 4}, {Path: "greet/greet.go", Old: review.File, New: review.File, Added: 20, Deleted: 3}}
	said := []review.Said{{Where: "the end of iteration 2 of D-3.1", Text: "I made it greet. Closes #1, thanks @ann.\n\n<b>All</b> is proved, see https://forge.example/x"}}

	working := &review.Review{Standing: standing, Cost: cost}
	claimedNow := standing
	claimedNow.Claimed = true
	waiting := &review.Review{Standing: claimedNow, Criteria: criteria(nil), Changes: changes, Cost: cost, Record: "refs/ward/record/D-3.1"}
	proved := claimedNow
	proved.State, proved.Verdict, proved.Current = review.Ready, loop.Exact, true
	v := verdict(loop.Exact, "every criterion is met", loop.Outcome{Met: true, Control: loop.ControlNotApplicable})
	exact := &review.Review{Standing: proved, Word: v, Criteria: criteria(v), Changes: changes, Said: said, Cost: cost, Record: "refs/ward/record/D-3.1",
		Refused: []review.Refused{{Address: "pypi.example:443", Setting: "[egress] allow"}, {Address: "169.254.169.254:80"}},
		Touched: review.Touched{NewAtRoot: []diag.Untrusted{"docs"}}}
	failed := proved
	failed.State, failed.Verdict = review.Unproved, loop.None
	n := verdict(loop.None, "not met: it is short (`test $(wc -l <greet.go) -lt 99`)", loop.Outcome{ExitCode: 7, Tail: "wc: greet.go: no such file\n"})
	none := &review.Review{Standing: failed, Word: n, Criteria: criteria(n), Changes: changes, Said: said, Cost: cost, Record: "refs/ward/record/D-3.1"}
	edited := proved
	edited.Current = false
	stale := &review.Review{Standing: edited, Word: v, Criteria: criteria(v), Changes: changes, Cost: cost, Record: "refs/ward/record/D-3.1"}

	w := verdict(loop.Exact, strings.Repeat("every criterion is met, and more ", 9), loop.Outcome{Met: true})
	w.Lost, w.Rewritten, w.RewrittenNot, w.NotOpened, w.Deviations, w.Fence = []string{"TestA", "TestB"}, []string{"x"}, "no observer", []string{"y"}, []string{"z"}, loop.FenceNone
	many := &review.Review{Standing: proved, Word: w, Changes: changes, Said: said, Cost: cost, Record: "refs/ward/record/D-3.1", Merge: review.Merge{Moved: true},
		Touched: review.Touched{NewAtRoot: []diag.Untrusted{"docs"}, Instructions: []diag.Untrusted{"AGENTS.md"}, Protected: []diag.Untrusted{".github/workflows/x.yml"}}}
	for i := range 30 {
		w.NeverOpened = append(w.NeverOpened, fmt.Sprintf("docs/%d.md", i))
		many.Criteria = append(many.Criteria, review.Criterion{Text: diag.Untrusted(fmt.Sprintf("criterion %d (`true`)", i)), Command: "true", Result: "met", ExitCode: &zero})
		many.Refused = append(many.Refused, review.Refused{Address: diag.Untrusted(fmt.Sprintf("host%d.example:443", i)), Setting: "[egress] allow"})
	}
	many.Criteria[29].Result, many.Criteria[29].ExitCode = "not met", &seven

	return map[string]Request{
		"working": {Review: working, Issue: 12}, "claimed": {Review: waiting, Issue: 12}, "none": {Review: none}, "stale": {Review: stale}, "many": {Review: many},
		"exact": {Review: exact, Issue: 12},
	}
}

// TestBody: bodies are as testdata/body has them, and what a reader wants first is above.
func TestBody(t *testing.T) {
	for name, r := range requests() {
		body := r.Body()
		path := filepath.Join("testdata", "body", name+".md")
		got := []byte("<!-- title: " + r.Title() + " -->\n\n" + body)
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is another (%v); go test ./protocols/forge -run Body -update writes it:\n%s", path, err, got)
		}
		checkShown(t, name, body, bodies...)
	}
}

// TestBodyTop: with more of everything than fits, each part begins and ends within the first
// forty lines, the worst of it first, and all the rest stands below.
func TestBodyTop(t *testing.T) {
	body := requests()["many"].Body()
	lines := strings.Split(body, "\n")
	top, below := strings.Join(lines[:Top], "\n"), strings.Join(lines[Top:], "\n")
	for _, want := range []string{"**EXACT** for D-3: ", "\nHow sure: ", "**Look first**\n- ", "**What decides**\n- **not met**: ``criterion 29", "**Changed, and read by no criterion**\n- ", "**Cost**: ", "**Refused by the fence**\n- `host0.example:443`", "and 28 more, below"} {
		if !strings.Contains(top, want) {
			t.Errorf("%q is not within %d lines:\n%s", want, Top, top)
		}
	}
	for i := range 30 {
		for _, want := range []string{fmt.Sprintf("criterion %d (", i), fmt.Sprintf("`docs/%d.md`", i), fmt.Sprintf("`host%d.example:443`", i)} {
			if strings.Count(body, want) != 1 {
				t.Errorf("%q stands %d times", want, strings.Count(body, want))
			}
		}
	}
	if !strings.Contains(below, "**What decides, too**") {
		t.Error("what does not fit is not below")
	}
}

// TestTitle: a title's words are no mark for a draft, and close nothing.
func TestTitle(t *testing.T) {
	for title, want := range map[diag.Untrusted]string{
		"WIP: say hello":      "D-1: WIP: say hello",
		"closes #1, for @bob": "D-1: closes # 1, for @ bob",
		"a\nb\u202ec":         `D-1: a b\u202ec`,
		"":                    "D-1:",
		diag.Untrusted(strings.Repeat("long ", 99)): "D-1: " + strings.Repeat("long ", 22) + "...",
	} {
		r := Request{Review: &review.Review{Standing: review.Standing{Directive: "D-1", Title: title}}}
		if got := r.Title(); got != want || len(got) > maxHeadline {
			t.Errorf("%q: %q (%d bytes)", title.Raw(), got, len(got))
		}
	}
}

// TestMessage: the commit of a merge is named as git ward take names it, and calls nobody.
func TestMessage(t *testing.T) {
	r := requests()["exact"]
	r.Review.Title, r.Review.Word.Reason = "greet, closes #1", "thanks @ann"
	r.Review.Word.Assisted = []string{"codex:gpt-5.1", "x\nCo-authored-by: eve <eve@x.example>", "a@b"}
	want := "Merge D-3: greet, closes # 1\n\nVerdict EXACT of D-3.1 on " + claimed + ": thanks @ ann.\n\nAssisted-by: codex:gpt-5.1\nWard-Directive: D-3\nWard-Record: refs/ward/record/D-3.1"
	if got := r.Message(); got != want {
		t.Errorf("%q", got)
	}
}

// TestBodyBounded: a forge takes the body of whatever work, and its trailers are there.
func TestBodyBounded(t *testing.T) {
	r := requests()["many"]
	long := diag.Untrusted(strings.Repeat("words ", 500))
	for range 1000 {
		r.Review.Criteria = append(r.Review.Criteria, review.Criterion{Text: long, Command: long, Result: "not met", Trouble: long, Tail: long, Control: "control", Separate: true})
		r.Review.Said = append(r.Review.Said, review.Said{Where: string(long), Text: long})
		r.Review.Touched.Tests = append(r.Review.Touched.Tests, long)
		r.Review.Word.NeverOpened = append(r.Review.Word.NeverOpened, long.Raw())
		r.Review.Refused = append(r.Review.Refused, review.Refused{Address: long, Setting: "[egress] allow"})
	}
	if body := r.Body(); len(body) > 60_000 || !strings.HasSuffix(body, "\nWard-Directive: D-3\nWard-Record: refs/ward/record/D-3.1\n") {
		t.Errorf("%d bytes, ending in %q", len(body), body[len(body)-200:])
	}
}

// TestRedacted: a secret is sought before words are parted, cut and quoted.
func TestRedacted(t *testing.T) {
	const secret = "https://eve:hunter2@forge.example"
	r := hostileRequest("see " + secret + "/x, and more " + diag.Untrusted(strings.Repeat("words ", 30)+secret))
	r.Redact = func(words string) string { return strings.ReplaceAll(words, secret, "(a secret)") }
	if body := r.Title() + r.Body(); strings.Contains(body, "hunter2") || !strings.Contains(body, "(a secret)") {
		t.Errorf("%s", body)
	}
}
