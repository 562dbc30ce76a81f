package verifier

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"git-ward/internal/git"
	"git-ward/internal/tier"
)

// company runs what Processes do, with room for a second run. It counts how many run at once, and
// each run by its tree and line.
type company struct {
	Processes
	mu        sync.Mutex
	now, most int
	room      int // how many a second place is given for
	ran       map[string]int
	before    func(job Job, alone bool) (Outcome, error, bool) // may take a run's place
	both      chan struct{}                                    // closed once two had company, for which each waits; nil: none does
	had       int
	held      bool // the commands hold before the work, too
}

func (c *company) Company() (leave func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.room == 0 {
		return nil, false
	}
	c.room--
	return func() { c.mu.Lock(); c.room++; c.mu.Unlock() }, true
}

func (c *company) Run(ctx context.Context, job Job) (Outcome, error) {
	c.mu.Lock()
	c.now++
	c.most = max(c.most, c.now)
	c.ran[job.Commit+" "+job.Line]++
	alone := c.room > 0
	if !alone && c.both != nil {
		if c.had++; c.had == 2 {
			close(c.both)
		}
	}
	c.mu.Unlock()
	defer func() { c.mu.Lock(); c.now--; c.mu.Unlock() }()
	if !alone && c.both != nil {
		<-c.both
	}
	if c.before != nil {
		if o, err, instead := c.before(job, alone); instead {
			return o, err
		}
	}
	return c.Processes.Run(ctx, job)
}

// judge verifies a claim of commands that each are tests of their own.
func (c *company) judge(t *testing.T, alone bool, lines ...string) (*Facts, error) {
	t.Helper()
	r := newRepository(t)
	main := "two() { echo 3; }\n"
	if c.held {
		main = "two() { echo 2; echo; }\n"
	}
	claim := r.claimed(files{"calc.sh": main, "tests/a.sh": calcTest, "tests/b.sh": calcTest}, files{"calc.sh": "two() { echo 2; }\n"}, []string{"calc.sh"}, lines...)
	claim.Controls, claim.Alone = []string{Broken}, alone
	var telling sync.Mutex
	claim.Progress = func(Step) {
		if !telling.TryLock() {
			t.Error("two steps are told at once")
			return
		}
		defer telling.Unlock()
	}
	c.Limits, c.Places, c.ran = Limits{Time: 5 * time.Minute, Output: 1 << 20}, newPlaces(t), map[string]int{}
	return Verify(t.Context(), git.Open(r.bare), c, claim)
}

const calcTest = "set -e\n. ./calc.sh\ntwo >out\ngrep -q '^2$' out || { echo 'not two'; exit 1; }\n"

// TestSideBySide: what decides runs alone, and the controls of two commands beside each other,
// where there is room and the directive lets them; they come to the same.
func TestSideBySide(t *testing.T) {
	tier.Full(t, "it runs many commands")
	for _, trial := range []struct {
		room  int
		alone bool
		most  int
	}{{1, false, 2}, {0, false, 1}, {1, true, 1}} {
		c := &company{room: trial.room}
		decided, deciding := map[string]bool{}, 0
		if trial.most == 2 {
			c.both = make(chan struct{})
		}
		c.before = func(job Job, alone bool) (o Outcome, err error, instead bool) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if len(decided) < 2 { // the run that decides comes first
				decided[job.Line] = true
				deciding = max(deciding, c.now)
			}
			return o, nil, false
		}
		f, err := c.judge(t, trial.alone, "sh tests/a.sh", "sh tests/b.sh")
		if err != nil {
			t.Fatal(err)
		}
		if c.most != trial.most || deciding != 1 {
			t.Errorf("room %d, alone %v: %d ran at once, %d of what decides", trial.room, trial.alone, c.most, deciding)
		}
		for i, want := range []string{"criterion 1", "criterion 2"} {
			if len(f.Controls) != 2 || f.Controls[i] != (Control{want, false, "fails"}) {
				t.Errorf("room %d, alone %v: %+v", trial.room, trial.alone, f.Controls)
			}
		}
	}
}

// TestLateBesideAnother: what took too long beside another command runs again alone, and that
// counts; what cannot be run is told, and ends its company.
func TestLateBesideAnother(t *testing.T) {
	c := &company{room: 1, held: true}
	c.before = func(job Job, alone bool) (Outcome, error, bool) {
		return Outcome{End: TimedOut, Exit: 137}, nil, !alone
	}
	f, err := c.judge(t, false, "sh tests/a.sh", "sh tests/b.sh")
	if err != nil {
		t.Fatal(err)
	}
	if !f.OK() || !slices.Equal(f.Controls, []Control{{"criterion 1", true, "fails"}, {"criterion 2", true, "fails"}}) {
		t.Errorf("%+v", f.Controls)
	}
	broken := errors.New("no disk")
	c = &company{room: 1}
	c.before = func(job Job, alone bool) (Outcome, error, bool) { return Outcome{}, broken, !alone }
	if _, err := c.judge(t, false, "sh tests/a.sh", "sh tests/b.sh"); !errors.Is(err, broken) || !strings.Contains(err.Error(), "criterion") {
		t.Error(err)
	}
}

// TestIdenticalTreesRunOnce: of the controls, no command runs twice on a tree; what decides runs
// as often as it has to.
func TestIdenticalTreesRunOnce(t *testing.T) {
	c := &company{room: 1}
	f, err := c.judge(t, false, "sh tests/a.sh", "sh tests/b.sh", "sh tests/a.sh")
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Controls) != 3 || f.Controls[2] != (Control{"criterion 3", false, "fails"}) {
		t.Errorf("%+v", f.Controls)
	}
	counts := map[int]int{}
	for what, n := range c.ran {
		if n > 1 && !strings.HasSuffix(what, "sh tests/a.sh") {
			t.Errorf("%s ran %d times", what, n)
		}
		counts[n]++
	}
	if counts[2] != 1 { // as two criteria, and on no other tree
		t.Errorf("%v", c.ran)
	}
}

// TestOnce: a run is taken for another one where it shows all that the other would.
func TestOnce(t *testing.T) {
	var ran []Job
	o := &once{Runner: runs(func(job Job) (Outcome, error) {
		ran = append(ran, job)
		if job.Line == "late" {
			return Outcome{End: TimedOut}, nil
		}
		return Outcome{End: Exited}, nil
	})}
	for _, trial := range []struct {
		job  Job
		runs bool
	}{
		{Job{Commit: "a", Line: "x", Guard: []string{"f"}}, true}, {Job{Commit: "a", Line: "x"}, false}, {Job{Commit: "a", Line: "x", Guard: []string{"f"}}, false},
		{Job{Commit: "a", Line: "x", Guard: []string{"g"}}, true}, {Job{Commit: "a", Line: "x", Watch: []string{"f"}}, true}, {Job{Commit: "a", Line: "x", Keep: true}, true},
		{Job{Commit: "a", Line: "x", Keep: true}, false}, {Job{Commit: "b", Line: "x"}, true}, {Job{Commit: "a", Line: "y"}, true},
		{Job{Commit: "a", Line: "x", Env: map[string]string{"A": "1"}}, true}, {Job{Commit: "a", Line: "late"}, true}, {Job{Commit: "a", Line: "late"}, true},
	} {
		before := len(ran)
		if _, err := o.Run(t.Context(), trial.job); err != nil || (len(ran) > before) != trial.runs {
			t.Errorf("%+v ran: %v %v", trial.job, len(ran) > before, err)
		}
	}
	if slices.ContainsFunc(o.runs, func(k *kept) bool { return k.job.Line == "late" }) {
		t.Error("what was late is kept")
	}
}

// runs is a Runner.
type runs func(Job) (Outcome, error)

func (r runs) Run(_ context.Context, job Job) (Outcome, error) { return r(job) }
func (r runs) Fence() (fence, image string)                    { return "none", "" }
