package worker

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"git-ward/agent/cycle"
	"git-ward/agent/interaction"
	"git-ward/agent/launch"
	"git-ward/agent/model"
	"git-ward/agent/stop"
	"git-ward/agent/store"
	"git-ward/internal/config"
	"git-ward/internal/tier"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

func TestParagraphs(t *testing.T) {
	if got := paragraphs("", "a\n", "", "b\nc\n\n"); got != "a\n\nb\nc\n" {
		t.Errorf("%q", got)
	}
}

func TestStatusOf(t *testing.T) {
	for kind, want := range map[stop.Kind]comms.Status{
		stop.Spent: comms.ExitBudgetExceeded, stop.Unfinished: comms.ExitBlocked, stop.Blocked: comms.ExitBlocked,
	} {
		if got := statusOf(kind); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
}

// TestQuestion: every member that a directive may lack is asked for by name.
func TestQuestion(t *testing.T) {
	text := question("D-1", []string{"acceptance_criteria", "R_p", "something_new"})
	for _, want := range []string{"that D-1 is done?", "no acceptance criterion", "- R_p: 1e-3", "does not say: something_new", "An edit of D-1 is the answer"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// TestRetryDue: which suspended units wait for nobody.
// TestLearntText: where control is a branch of its own, the lessons are merged there.
func TestLearntText(t *testing.T) {
	l := &store.Learnt{Branch: "agent/D-1-lessons", Applied: 1}
	for control, want := range map[config.Control]string{
		{Branch: "main", Project: "main"}:   "`git merge origin/agent/D-1-lessons` takes them.",
		{Branch: "ward", Project: "master"}: "`git merge origin/agent/D-1-lessons` on ward takes them.",
	} {
		if text := learntText(l, control); !strings.HasSuffix(text, want) {
			t.Errorf("%+v: %s", control, text)
		}
	}
}

// TestPressed: a unit that somebody ends while backpressure holds it says so in its report.
func TestPressed(t *testing.T) {
	held := func(event uow.Event, state uow.State, reason uow.Reason) *uow.Record {
		return &uow.Record{Event: event, State: state, ReasonCode: reason, Note: "429"}
	}
	out, stopped := held(uow.Block, uow.ZombiedSoft, uow.TransientFailure), held(uow.Block, uow.ZombiedSoft, uow.Stopped)
	retried, stuck := held(uow.Retry, uow.Active, "RETRY_POLICY"), held(uow.Block, uow.ZombiedSoft, "LOOP_BLOCKED")
	denied, confirmed := held(uow.Deny, uow.ZombiedDead, "WAIVER_DENIED"), held(uow.Confirm, uow.Failed, "NOT_NEEDED")
	for name, row := range map[string]struct {
		records []*uow.Record
		want    loop.SignalKind
	}{
		"an outage":             {[]*uow.Record{out, retried, out, denied, confirmed}, loop.RateLimit},
		"scratch/STOP":          {[]*uow.Record{stopped, denied, confirmed}, loop.StopFile},
		"an outage that passed": {[]*uow.Record{out, retried, confirmed}, ""},
		"something else":        {[]*uow.Record{out, retried, stuck, denied, confirmed}, ""},
		"nothing":               {nil, ""},
	} {
		var got loop.SignalKind
		if signals := pressed(row.records); len(signals) > 0 {
			got = signals[0].Kind
		}
		if got != row.want {
			t.Errorf("%s: %q, not %q", name, got, row.want)
		}
	}
}

// ending is a solver that ends with an error, when its time is over or before.
type ending struct {
	waits bool
	err   error
}

func (e *ending) Solve(ctx context.Context, _ string) (interaction.Done, error) {
	done := interaction.Done{Tally: model.Tally{Calls: 1}}
	if e.waits {
		<-ctx.Done()
		if e.err == nil {
			return done, ctx.Err()
		}
	}
	return done, e.err
}

func (e *ending) Told(string) (string, error) { return "the capsule", nil }

// TestIterationEnds: why an iteration's work ended is the solver's word, where its
// time was not over.
func TestIterationEnds(t *testing.T) {
	tier.First(t, "it waits three times for the end of an iteration's time, which is a second at least")
	trouble, declined := errors.New("trouble"), stop.New(stop.Unfinished, "declined")
	over := launch.Launch{Until: time.Now().Add(-time.Second)}
	for name, c := range map[string]struct {
		solver ending
		launch launch.Launch
		kind   stop.Kind
		why    string
		left   int    // seconds of the loop's own; 0: an hour
		tree   string // what became of it, where no repository is left
	}{
		"trouble":                 {ending{err: trouble}, launch.Launch{}, stop.None, "trouble", 0, ""},
		"its own end":             {ending{err: declined}, launch.Launch{}, stop.Unfinished, "declined", 0, ""},
		"the iteration's time":    {ending{waits: true}, launch.Launch{}, stop.Unfinished, "max_seconds_per_iteration", 0, ""},
		"the loop's time":         {ending{waits: true}, launch.Launch{}, stop.Unfinished, "max_total_seconds", 1, ""},
		"both":                    {ending{waits: true, err: declined}, launch.Launch{}, stop.Unfinished, "declined", 0, ""},
		"the launch's time":       {ending{waits: true, err: declined}, over, stop.Spent, launch.TimeSpent, 0, ""},
		"no repository":           {ending{}, launch.Launch{}, stop.None, "its .git is gone or broken. It is lost", 0, "It is lost"},
		"none, and its own end":   {ending{err: declined}, launch.Launch{}, stop.Unfinished, "declined. It is lost", 0, "It is lost"},
		"none, and the time over": {ending{waits: true}, over, stop.Spent, "It is lost", 0, "It is lost"},
	} {
		w := &iterationWork{solvers: new(solvers), watching: new(watch), subagents: new(cycle.Subagents), launch: c.launch, number: 1, current: &c.solver,
			keeping: func(context.Context) (func() string, error) { return func() string { return c.tree }, nil }}
		w.limits.MaxSecondsPerIteration = 1
		if !c.solver.waits || c.left > 0 {
			w.limits.MaxSecondsPerIteration = 60
		}
		done, err := w.Solve(t.Context(), cycle.Brief{Iteration: 1, Left: loop.Remaining{Seconds: cmp.Or(c.left, 3600), ToolCalls: 9}}, "a refusal goes to the same solver")
		if stop.KindOf(err) != c.kind || err == nil || !strings.Contains(err.Error(), c.why) || done.Tally.Calls != 1 {
			t.Errorf("%s: %d calls, %v", name, done.Tally.Calls, err)
		}
		if s := stop.Of(err); s != nil && !strings.Contains(s.Why, c.tree) {
			t.Errorf("%s: the report would say %q", name, s.Why)
		}
	}
}
