package site

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"git-ward/hooks/view"
	"git-ward/internal/diag"
	"git-ward/protocols/loop"
	"git-ward/protocols/review"
	"git-ward/protocols/uow"
)

// fixture is a source of n directives in which an agent says the same words wherever it may
// say any. It shows how pages are made of what is read; what real runs leave is in
// hooks/view/serve and hooks/view/command.
type fixture struct {
	words diag.Untrusted
	n     int
	fails string // a directive that cannot be read
}

var day = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return day.Add(time.Duration(minutes) * time.Minute) }

func (f fixture) Version(context.Context) (string, error) { return "v1", nil }

func (f fixture) Overview(context.Context) (*view.Overview, error) {
	o := &view.Overview{Repository: "xstrings", Version: "v1", Host: &view.Host{MayAsk: true, Running: true, Since: at(0), LastWork: at(12)}, Warnings: []string{"the suite fails on main"}}
	o.Waiting = []view.Waiting{
		{Key: "a", Directive: "D-1", Unit: "D-1.1", Title: f.words, What: "It asks you something.", Words: f.words, Command: "git ward uow approve -m 'go on' D-1.1", Since: at(3), Kind: view.Question, For: uow.ForYou},
		{Key: "b", Directive: "D-2", Unit: "D-2.1", Title: f.words, What: "It is done and proved.", Command: "git ward review D-2", Or: "git ward take D-2", Since: at(5), Kind: view.Ready, For: uow.ForYou},
	}
	all := []review.State{review.Waiting, review.Ready, review.Working, review.Unproved, review.Open, review.Taken, review.Taken, review.Dropped}
	for i := range f.n {
		tokens := int64(12000 * i)
		name := fmt.Sprintf("D-%d", i+1)
		o.Directives = append(o.Directives, view.Line{
			Standing: review.Standing{Directive: name, Title: f.words, State: all[i%len(all)], WaitsFor: "you", Next: "git ward review " + name, Unit: name + ".1", Commit: "c"},
			Words:    string(all[i%len(all)]), WaitsWords: "waits for you", Spent: view.Spent{Iterations: int64(i%9) + 1, Allowed: 10, Tokens: &tokens}, Updated: at(i)})
	}
	return o, nil
}

func (f fixture) Directive(_ context.Context, name string) (*view.Directive, error) {
	if name == f.fails {
		return nil, errors.New("its journal \x1b[2J is broken")
	}
	d := &view.Directive{Text: f.words, Reviewable: true, Questions: []view.Report{{Name: "Q-1", Time: at(18), Text: f.words}}}
	d.Standing = review.Standing{Directive: name, Title: f.words, State: review.Ready, WaitsFor: "you", Next: "git ward review " + name, Unit: name + ".1"}
	d.Words, d.WaitsWords, d.Spent = "ready to take", "waits for you: read the work and take it", view.Spent{Iterations: 3, Allowed: 10}
	d.Waiting = []view.Waiting{{What: "it asks you something", Words: f.words, Command: "git ward uow approve -m 'go on' D-1.1"}}
	y := func(v float64) *float64 { return &v }
	u := view.Unit{ID: name + ".1", State: uow.PendingApproval, Words: "waiting for your word", WaitsWords: "waits for you", Begun: at(0), Updated: at(15), Iteration: 4,
		Residuals: []view.Point{{X: 1, Time: at(1), Y: y(3)}, {X: 2, Time: at(2)}, {X: 3, Time: at(3), Y: y(1)}, {X: 4, Time: at(5), Y: y(0)}},
		Costs:     []view.Point{{X: 1, Time: at(1), Y: y(12000)}, {X: 2, Time: at(2), Y: y(31000)}, {X: 3, Time: at(3), Y: y(99000)}}}
	for i, s := range []uow.State{uow.Pending, uow.Active, uow.Active, uow.ZombiedSoft, uow.Active, uow.PendingApproval} {
		u.Steps = append(u.Steps, view.Step{N: i + 1, Time: at(i * 3), Event: uow.Iterate, Words: "begins an iteration", State: s, Actor: uow.Agent, Note: f.words})
	}
	u.Verdicts = []loop.Verdict{{Iteration: 2, Verdict: loop.None, Reason: "not met: " + f.words.Raw(), Fence: loop.FenceNone, Criteria: []loop.Outcome{{Criterion: f.words.Raw(), ExitCode: 1, Tail: f.words.Raw()}}}}
	u.Transcripts = []view.TranscriptRef{{Unit: u.ID, Iteration: 1}}
	d.Residuals = u.Residuals
	d.Units = []view.Unit{u, {ID: name + ".2", Words: "over", State: uow.Archived, Begun: at(16), Updated: at(31), Steps: []view.Step{{Time: at(16), State: uow.Active}, {Time: at(30), State: uow.Completed}, {Time: at(31), State: uow.Archived}}}}
	d.Reports = []view.Report{{Name: "R-1", Words: "done: every criterion is met", Time: at(17), Text: f.words}}
	return d, nil
}

func (f fixture) Review(_ context.Context, name string) (*review.Review, error) {
	exit := 1
	tokens := int64(1_234_567)
	return &review.Review{Standing: review.Standing{Directive: name, Title: f.words, State: review.Ready}, Outcome: "EXACT: " + f.words.Raw(),
		Word:     &loop.Verdict{Verdict: loop.Exact, Fence: loop.FenceNone, Caveat: loop.Caveat, Additions: []string{f.words.Raw()}},
		Criteria: []review.Criterion{{Text: f.words, Result: "met"}, {Text: f.words, Result: "not met", ExitCode: &exit, Tail: f.words}},
		Touched:  review.Touched{Protected: []diag.Untrusted{f.words}},
		Changes:  []review.Change{{Path: f.words, New: review.File, Added: 3}, {Path: "b", Old: review.File, New: review.Link, Target: f.words}},
		Patch:    "diff --git a/" + f.words + " b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@ " + f.words + "\n+" + f.words + "\n-gone\n kept\n",
		Said:     []review.Said{{Where: "the end of iteration 1", Text: f.words}}, Cost: review.Cost{Iterations: 1, Allowed: 3, Tokens: &tokens}, Commands: []string{"git ward take " + name}}, nil
}

func (f fixture) Reviews(ctx context.Context, names []string) iter.Seq2[*review.Review, error] {
	return func(yield func(*review.Review, error) bool) {
		for _, name := range names {
			if r, err := f.Review(ctx, name); !yield(r, err) {
				return
			}
		}
	}
}

func (f fixture) Facts(_ context.Context, name string) (view.Facts, error) {
	said := sumOf([]byte(f.words))
	return view.Facts{Directive: said, Review: said}, nil
}

func (f fixture) Audit(_ context.Context, filter view.Filter) (*view.AuditPage, error) {
	return &view.AuditPage{Total: 1, Pushes: []view.Push{{N: 7, Time: at(1), Principal: "agent", Name: f.words, Verdict: "refused", Rules: []diag.Untrusted{"secret/token:" + f.words}, Repeats: 3,
		Refs: []view.Move{{Ref: "refs/heads/" + f.words, New: "1234567890123456789012345678901234567890"}}}}}, nil
}
