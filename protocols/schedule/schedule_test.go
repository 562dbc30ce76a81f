package schedule

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ward/internal/tier"
	"git-ward/protocols/comms"
	"git-ward/protocols/uow"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// model is Assign as slow and as plain as it can be: place after place is given by looking
// at every directive, and every machine, anew.
func model(s State) (p Plan) {
	running := slices.Clone(s.Running)
	place := func() (free *Slot) {
		works := map[string]int{}
		for _, sl := range s.Slots {
			if slices.ContainsFunc(running, func(r Running) bool { return r.Slot == sl.Number }) {
				works[sl.Of]++
			}
		}
		for _, sl := range s.Slots {
			if slices.ContainsFunc(running, func(r Running) bool { return r.Slot == sl.Number }) {
				continue
			}
			if free == nil || works[sl.Of] < works[free.Of] || works[sl.Of] == works[free.Of] &&
				(sl.Of < free.Of || sl.Of == free.Of && sl.Number < free.Number) {
				free = &sl
			}
		}
		return free
	}
	can := func(d *Directive) bool {
		due, at := s.Due(d)
		rest := s.Backoffs[d.Name]
		return (due == Now || due == Later && !at.After(s.Now)) && !s.Stopped[d.Name] && !rest.GivenUp && !rest.Until.After(s.Now) &&
			s.free(d.Name) && (s.Only == "" || s.Only == d.Name) &&
			!slices.ContainsFunc(running, func(r Running) bool { return r.Directive == d.Name })
	}
	better := func(x, y *Directive) bool {
		if bx, by := s.Backoffs[x.Name].Failures >= Tries, s.Backoffs[y.Name].Failures >= Tries; bx != by {
			return by
		}
		return x.Priority > y.Priority || x.Priority == y.Priority && x.ID < y.ID
	}
	first := func() (best *Directive) {
		for i := range s.Directives {
			if d := &s.Directives[i]; can(d) && (best == nil || better(d, best)) {
				best = d
			}
		}
		return best
	}
	for d, at := first(), place(); d != nil && at != nil; d, at = first(), place() {
		p.Start = append(p.Start, Assignment{d.Name, at.Number})
		running = append(running, Running{Directive: d.Name, Slot: at.Number})
	}
	wanted := 0
	p.Left = len(running) > 0
	for i := range s.Directives {
		d := &s.Directives[i]
		if can(d) {
			wanted++
		}
		due, _ := s.Due(d)
		_, held := s.Held[d.Name]
		waits := due == Now || due == Later && (d.Unit.Last.ReasonCode == uow.TransientFailure || d.Unit.Last.ReasonCode == uow.ProgramKilled) // for the clock alone
		p.Left = p.Left || can(d) || waits && !s.Stopped[d.Name] && !s.Backoffs[d.Name].GivenUp && (!held || s.free(d.Name)) && (s.Only == "" || s.Only == d.Name)
	}
	for range s.Running {
		var longest *Running
		for _, r := range s.Running {
			if r.Idle.IsZero() || slices.Contains(p.End, r.Directive) {
				continue
			}
			over := !r.Idle.Add(s.Linger + EndGrace).After(s.Now)
			if (over || r.Waits && wanted > 0) && (longest == nil || r.Idle.Before(longest.Idle) || r.Idle.Equal(longest.Idle) && r.Directive < longest.Directive) {
				longest = &r
			}
		}
		if longest == nil {
			break
		}
		if longest.Waits && wanted > 0 {
			wanted--
		}
		p.End = append(p.End, longest.Directive)
	}
	return p
}

// free reports whether nobody else has a directive any more.
func (s *State) free(name string) bool {
	until, held := s.Held[name]
	return !held || !until.IsZero() && !until.After(s.Now)
}

// until checks that the clock alone changes no decision before the time that a plan, carried
// out, names, or ever where it names none; and that it names none that is over.
func (l *life) until(p Plan) {
	if !p.Next.IsZero() && !p.Next.After(l.s.Now) {
		l.t.Fatalf("the next look is at %s, and it is %s: %+v", p.Next, l.s.Now, l.s)
	}
	far := l.s.Now.AddDate(10, 0, 0)
	if !p.Next.IsZero() {
		far = p.Next.Add(-1)
	}
	later := l.s
	for _, at := range []time.Time{far, l.s.Now.Add(time.Duration(l.rand.Int64N(int64(far.Sub(l.s.Now)) + 1)))} {
		later.Now = at
		if q := model(later); len(q.Start) > 0 || len(q.End) > 0 {
			l.t.Fatalf("at %s it is %+v, and nobody looks before %s: %+v", at, q, p.Next, l.s)
		}
	}
}

// life is one random history: what a PM, workers, other hosts and the clock do, and what is
// decided meanwhile.
type life struct {
	t        *testing.T
	rand     *rand.Rand
	s        State
	poisoned string         // always ends badly
	work     map[string]int // steps that are left of a directive's worker
	ran      map[string]int // times that it began
	done     map[string]bool
}

func newLife(t *testing.T, random *rand.Rand) *life {
	l := &life{t: t, rand: random, work: map[string]int{}, ran: map[string]int{}, done: map[string]bool{}}
	l.s = State{Rules: Rules{Now: noon, Loop: random.IntN(8) > 0, Retry: time.Minute, Poll: time.Minute, Linger: time.Duration(random.IntN(3)) * time.Minute},
		Held: map[string]time.Time{}, Stopped: map[string]bool{}, Backoffs: map[string]Backoff{}}
	for i := range 1 + random.IntN(8) {
		l.s.Directives = append(l.s.Directives, Directive{Name: fmt.Sprintf("D-%d", i+1), ID: i + 1, Priority: random.IntN(3), Said: comms.Said{Hash: "h"}})
	}
	for i := range 1 + random.IntN(3) {
		l.s.Slots = append(l.s.Slots, Slot{Number: i + 1})
	}
	for i := range random.IntN(4) {
		l.s.Slots = append(l.s.Slots, Slot{Number: 1001 + i, Of: []string{"farm", "barn"}[random.IntN(2)]})
	}
	if random.IntN(4) == 0 {
		l.poisoned = l.any().Name
	}
	return l
}

func (l *life) any() *Directive { return &l.s.Directives[l.rand.IntN(len(l.s.Directives))] }

// record is a random newest record of a unit.
func (l *life) record() *uow.Record {
	r := &uow.Record{State: uow.States()[l.rand.IntN(len(uow.States()))], DirectiveHash: []string{"h", "h", "h", "old"}[l.rand.IntN(4)],
		Time: uow.FormatTime(l.s.Now.Add(time.Duration(l.rand.IntN(240)-180) * time.Second)), Policy: uow.DefaultPolicy()}
	r.Budget.Total.Pushes = 100
	reasons := []uow.Reason{uow.Stopped, uow.Stale, uow.TransientFailure, uow.ProgramKilled, uow.Trouble, uow.ModelDenied, uow.NoTool}
	r.ReasonCode, r.Retries = reasons[l.rand.IntN(len(reasons))], int64(l.rand.IntN(30))
	if l.rand.IntN(4) == 0 {
		r.Policy.PilotPulse, r.Pulse = 5, int64(l.rand.IntN(8))
	}
	return r
}

// event is something that happens outside of the decision.
func (l *life) event() {
	d := l.any()
	switch l.rand.IntN(12) {
	case 0:
		d.Unit = Unit{Last: l.record(), Midway: l.rand.IntN(2) == 0, Forked: l.rand.IntN(3) == 0, Seen: []time.Time{{}, l.s.Now, l.s.Now.Add(-5 * time.Minute)}[l.rand.IntN(3)]}
	case 1:
		d.Unit = Unit{}
	case 2:
		d.State, d.Dropped = comms.State(l.rand.IntN(3)), l.rand.IntN(4) == 0
	case 3:
		d.Waits = [][]string{nil, {"D-99"}}[l.rand.IntN(2)]
	case 4:
		l.s.Stop = l.rand.IntN(4) == 0
	case 5:
		if l.running(d.Name) == nil && l.rand.IntN(2) == 0 {
			l.s.Held[d.Name] = []time.Time{{}, l.s.Now.Add(time.Minute)}[l.rand.IntN(2)]
		} else {
			delete(l.s.Held, d.Name)
		}
	case 6:
		l.s.Stopped[d.Name] = l.rand.IntN(3) == 0
	case 7:
		d.Unit.Broken = l.rand.IntN(4) == 0
	case 8:
		l.s.Spent = l.rand.IntN(10) == 0
	case 9: // the clock is set
		l.s.Now = l.s.Now.Add(time.Duration(l.rand.IntN(7200)-3600) * time.Second)
	default:
		l.s.Now = l.s.Now.Add(time.Duration(l.rand.IntN(90)) * time.Second)
	}
}

func (l *life) running(name string) *Running {
	for i := range l.s.Running {
		if l.s.Running[i].Directive == name {
			return &l.s.Running[i]
		}
	}
	return nil
}

// looks brings up what is known of those who work.
func (l *life) looks() {
	for i := range l.s.Running {
		r := &l.s.Running[i]
		j := slices.IndexFunc(l.s.Directives, func(d Directive) bool { return d.Name == r.Directive })
		if due, _ := l.s.Due(&l.s.Directives[j]); due == Now {
			r.Idle, r.Waits = time.Time{}, false
		} else if r.Idle.IsZero() {
			r.Idle, r.Waits = l.s.Now, l.rand.IntN(2) == 0
		}
	}
}

// decide has it decided, compares, and does it.
func (l *life) decide() {
	l.looks()
	p, want := Assign(l.s), model(l.s)
	if !slices.Equal(p.Start, want.Start) || !slices.Equal(p.End, want.End) || p.Left != want.Left {
		l.t.Fatalf("%+v\nwant %+v\nof %+v", p, want, l.s)
	}
	for _, name := range p.End {
		l.s.Running = slices.DeleteFunc(l.s.Running, func(r Running) bool { return r.Directive == name })
	}
	for _, a := range p.Start {
		if r := l.running(a.Directive); r != nil {
			l.t.Fatalf("%s has a second worker: %+v", a.Directive, l.s)
		}
		if slices.ContainsFunc(l.s.Running, func(r Running) bool { return r.Slot == a.Slot }) {
			l.t.Fatalf("place %d has a second directive: %+v", a.Slot, l.s)
		}
		l.s.Running = append(l.s.Running, Running{Directive: a.Directive, Slot: a.Slot})
		l.work[a.Directive] = 1 + l.rand.IntN(4)
		l.ran[a.Directive]++
	}
	switch again := Assign(l.s); {
	case len(p.End) == 0 && len(again.Start) > 0:
		l.t.Fatalf("one decision was not enough: %+v", again)
	case len(p.Start)+len(p.End) == 0: // what is begun or ended is looked at again by itself
		l.until(p)
	}
}

// worksOn lets a step of every worker pass, and takes down who has ended.
func (l *life) worksOn() {
	l.s.Running = slices.DeleteFunc(l.s.Running, func(r Running) bool {
		if l.work[r.Directive]--; l.work[r.Directive] > 0 {
			return false
		}
		i := slices.IndexFunc(l.s.Directives, func(d Directive) bool { return d.Name == r.Directive })
		d := &l.s.Directives[i]
		if r.Directive == l.poisoned {
			bad := l.s.Backoffs[r.Directive].Failures + 1
			l.s.Backoffs[r.Directive] = Backoff{Until: l.s.Now.Add(time.Second << min(bad, 6)), Failures: bad}
			return true
		}
		delete(l.s.Backoffs, r.Directive)
		d.State, d.Unit = comms.Closed, Unit{}
		l.done[d.Name] = true
		return true
	})
}

// TestHistories: on 10,000 random histories the decision is the model's; a directive has one
// worker and a place one directive; what is most urgent, and oldest, goes first. And when
// nothing but the work goes on, all of it is done, in spite of one agent that ends badly
// each time.
func TestHistories(t *testing.T) {
	tier.First(t, "10,000 histories, each compared step by step")
	random := rand.New(rand.NewPCG(tier.Seed(t), 27))
	for range 10_000 {
		l := newLife(t, random)
		for range random.IntN(40) {
			l.event()
			l.decide()
			if random.IntN(3) == 0 {
				l.worksOn()
			}
		}
		l.s.Stop, l.s.Spent, l.s.Held, l.s.Stopped = false, false, nil, nil
		for i := range l.s.Directives {
			d := &l.s.Directives[i]
			if d.Waits = nil; d.State != comms.Closed { // nothing speaks against it
				d.State, d.Unit = comms.Open, Unit{}
			}
		}
		for range 120 { // twenty minutes: no pause is longer
			l.s.Now = l.s.Now.Add(10 * time.Second)
			l.decide()
			if l.worksOn(); len(l.s.Running) == 0 && !Assign(l.s).Left {
				break
			}
		}
		for _, d := range l.s.Directives {
			if due, _ := l.s.Due(&d); due == Now && d.Name != l.poisoned && l.s.Backoffs[d.Name].Failures == 0 {
				t.Fatalf("%s is never done: %+v", d.Name, l.s)
			}
		}
	}
}

// TestDue: when there is something to do, for each state of a unit, of this text and of an
// earlier one.
func TestDue(t *testing.T) {
	const word, over = "word", "over"
	for _, c := range []struct {
		state       uow.State
		same, other string
	}{
		{uow.Pending, "now", "now"}, {uow.Active, "now", "now"}, {uow.PendingApproval, word, "now"}, {uow.Paused, word, word},
		{uow.ZombiedDead, word, "now"}, {uow.Completed, "now", "now"}, {uow.Failed, "now", "now"}, {uow.Breached, word, "now"},
		{uow.Refinement, "now", "now"}, {uow.Archived, over, "now"},
	} {
		r := Rules{Now: noon, Loop: true}
		u := &uow.Record{State: c.state, DirectiveHash: "h"}
		for hash, want := range map[string]string{"h": c.same, "other": c.other} {
			due, _ := r.Due(&Directive{Name: "D-1", Said: comms.Said{Hash: hash}, Unit: Unit{Last: u}})
			if got := []string{"now", "later", word, over}[due]; got != want {
				t.Errorf("%s of %s: %s, want %s", c.state, hash, got, want)
			}
		}
	}
	blocked := func(reason uow.Reason, retries int64) *uow.Record {
		u := &uow.Record{State: uow.ZombiedSoft, DirectiveHash: "h", ReasonCode: reason, Retries: retries, Time: uow.FormatTime(noon), Policy: uow.DefaultPolicy()}
		u.Budget.Total.Pushes = 1000
		return u
	}
	for name, c := range map[string]struct {
		u    *uow.Record
		rule func(*Rules)
		want Due
		in   time.Duration
	}{
		"an outage":                       {blocked(uow.TransientFailure, 0), nil, Later, time.Minute},
		"an outage, later":                {blocked(uow.TransientFailure, 0), func(r *Rules) { r.Now = noon.Add(time.Minute) }, Now, time.Minute},
		"an outage, the clock put back":   {blocked(uow.TransientFailure, 0), func(r *Rules) { r.Now = noon.Add(-24 * time.Hour) }, Now, -24 * time.Hour},
		"an outage, the clock a bit back": {blocked(uow.TransientFailure, 0), func(r *Rules) { r.Now = noon.Add(-time.Minute) }, Later, time.Minute},
		"an outage, retries spent":        {blocked(uow.TransientFailure, 24), nil, Word, 0},
		"killed":                          {blocked(uow.ProgramKilled, 0), nil, Later, time.Minute},
		"killed, retries spent":           {blocked(uow.ProgramKilled, 24), func(r *Rules) { r.Now = noon.Add(time.Hour) }, Now, time.Hour},
		"trouble, retries spent":          {blocked(uow.Trouble, 24), func(r *Rules) { r.Now = noon.Add(time.Hour) }, Now, time.Hour},
		"stopped":                         {blocked(uow.Stopped, 0), nil, Now, 0},
		"stopped, and the file":           {blocked(uow.Stopped, 0), func(r *Rules) { r.Stop = true }, Word, 0},
		"stopped, the file on its branch": {blocked(uow.Stopped, 0), nil, Word, 0},
		"left, and the file":              {blocked(uow.Stale, 0), func(r *Rules) { r.Stop = true }, Now, 0}, // whose worker says that it stops it
		"the model denies":                {blocked(uow.ModelDenied, 0), nil, Word, 0},
		"the time is over":                {&uow.Record{State: uow.Active, DirectiveHash: "h"}, func(r *Rules) { r.Spent = true }, Word, 0},
	} {
		r := Rules{Now: noon, Loop: true, Retry: time.Minute, Poll: 30 * time.Second}
		if c.rule != nil {
			c.rule(&r)
		}
		due, at := r.Due(&Directive{Name: "D-1", Said: comms.Said{Hash: "h"}, Unit: Unit{Last: c.u, Stop: strings.HasSuffix(name, "its branch")}})
		if due != c.want || (due == Now || due == Later) && !at.Equal(noon.Add(c.in)) {
			t.Errorf("%s: %d at %s", name, due, at)
		}
	}
}

// TestNothingWaitsInSilence: what waits for a word says for whose, whatever blocked it: no agent
// takes it up.
func TestNothingWaitsInSilence(t *testing.T) {
	for _, reason := range []uow.Reason{uow.Stopped, uow.Stale, uow.TransientFailure, uow.ProgramKilled, uow.Trouble, uow.Backpressure, uow.VerdictTimeout, uow.ModelDenied, uow.NoTool, uow.NotStarted} {
		for n := range 4 {
			u := &uow.Record{ID: "D-1.1", Directive: "D-1", State: uow.ZombiedSoft, ReasonCode: reason, Retries: int64(99 * (n & 1)), DirectiveHash: "h", Time: uow.FormatTime(noon), Policy: uow.DefaultPolicy()}
			r := Rules{Now: noon, Loop: true, Retry: time.Minute, Poll: 30 * time.Second, Stop: n&2 != 0}
			if due, _, _ := r.Resume(u, "h"); due == Word && u.Waits().For == uow.ForAgent {
				t.Errorf("%s, STOP %t: nobody goes on with it, and it waits for %s", reason, r.Stop, u.Waits())
			}
		}
	}
}

// TestResume: who works takes no step that its time has not come for, and each as the unit's
// rules have it.
func TestResume(t *testing.T) {
	at := func(state uow.State, hash string, reason uow.Reason, retries int64) *uow.Record {
		u := &uow.Record{State: state, DirectiveHash: hash, ReasonCode: reason, Retries: retries, Time: uow.FormatTime(noon), Policy: uow.DefaultPolicy()}
		u.Budget.Total.Pushes = 1000
		return u
	}
	due := at(uow.Active, "h", "", 0)
	due.Policy.PilotPulse, due.Pulse = 2, 2
	for name, c := range map[string]struct {
		u    *uow.Record
		now  time.Time
		due  Due
		want uow.Event
	}{
		"new":                   {at(uow.Pending, "h", "", 0), noon, Now, uow.Activate},
		"new, edited":           {at(uow.Pending, "old", "", 0), noon, Now, uow.Activate},
		"at work":               {at(uow.Active, "h", "", 0), noon, Now, ""},
		"a sign is due":         {due, noon, Word, ""},
		"asks":                  {at(uow.PendingApproval, "h", uow.Question, 0), noon, Word, ""},
		"asks, edited":          {at(uow.PendingApproval, "old", uow.Question, 0), noon, Now, uow.Approve},
		"paused, edited":        {at(uow.Paused, "old", "", 0), noon, Word, ""},
		"blocked, edited":       {at(uow.ZombiedSoft, "old", uow.ModelDenied, 0), noon, Now, uow.Clarify},
		"blocked":               {at(uow.ZombiedSoft, "h", uow.ModelDenied, 0), noon, Word, ""},
		"stale":                 {at(uow.ZombiedSoft, "h", uow.Stale, 99), noon, Now, uow.Retry},
		"an outage":             {at(uow.ZombiedSoft, "h", uow.TransientFailure, 0), noon, Later, uow.Retry},
		"an outage, later":      {at(uow.ZombiedSoft, "h", uow.TransientFailure, 0), noon.Add(time.Hour), Now, uow.Retry},
		"killed":                {at(uow.ZombiedSoft, "h", uow.ProgramKilled, 0), noon, Later, uow.Retry},
		"killed, no try left":   {at(uow.ZombiedSoft, "h", uow.ProgramKilled, 99), noon, Now, uow.Exhaust},
		"trouble, no try left":  {at(uow.ZombiedSoft, "h", uow.Trouble, 99), noon, Now, uow.Exhaust},
		"an outage, none left":  {at(uow.ZombiedSoft, "h", uow.TransientFailure, 99), noon, Word, ""},
		"ended, for its report": {at(uow.Completed, "h", "", 0), noon, Now, ""},
	} {
		r := Rules{Now: c.now, Loop: true, Retry: time.Minute, Poll: 30 * time.Second}
		if due, _, by := r.Resume(c.u, "h"); due != c.due || by.Event != c.want {
			t.Errorf("%s: %d by %q", name, due, by.Event)
		}
	}
}

// TestLarge: ten thousand directives that wait for each other in circles, or for nobody, are
// decided on in one go.
func TestLarge(t *testing.T) {
	var k Known
	doc := &comms.Document{}
	for i := range 10_000 {
		d := comms.Directive{ID: i + 1}
		if i%2 == 0 { // D-1 waits for D-3, and so on around
			d.Options.After = []string{fmt.Sprintf("D-%d", (i+2)%10_000+1)}
		}
		d.Options.Priority = i % 7
		doc.Directives = append(doc.Directives, d)
	}
	k.Control(doc)
	s := State{Rules: Rules{Now: noon, Loop: true}, Directives: k.Directives}
	for i := range 100 {
		s.Slots = append(s.Slots, Slot{Number: i + 1})
	}
	p := Assign(s)
	if len(p.Start) != 100 || !p.Left {
		t.Fatalf("%d assignments", len(p.Start))
	}
	free := slices.DeleteFunc(slices.Clone(doc.Directives), func(d comms.Directive) bool { return len(d.Options.After) > 0 })
	slices.SortStableFunc(free, func(a, b comms.Directive) int {
		return cmp.Or(cmp.Compare(b.Options.Priority, a.Options.Priority), cmp.Compare(a.ID, b.ID))
	})
	for i, a := range p.Start {
		if a.Directive != free[i].Name() || a.Slot != i+1 {
			t.Fatalf("%d: %+v, want %s", i, a, free[i].Name())
		}
	}
}

// TestDatedAhead: a record that is dated ahead of this clock has a pause all the same, from when it was
// first read: whose clock is wrong would be started again at once, each time. Where that is ahead, too,
// this clock was put back, and there is none.
func TestDatedAhead(t *testing.T) {
	const pause = time.Minute
	u := &uow.Record{State: uow.ZombiedSoft, ReasonCode: uow.TransientFailure, DirectiveHash: "h", Time: uow.FormatTime(noon.Add(time.Hour)), Policy: uow.DefaultPolicy()}
	u.Budget.Total.Pushes = 100
	for _, c := range []struct {
		seen, now time.Time
		due       Due
		at        time.Time
	}{
		{noon, noon, Later, noon.Add(pause)},
		{noon, noon.Add(pause - time.Second), Later, noon.Add(pause)},
		{noon, noon.Add(pause), Now, noon.Add(pause)},
		{time.Time{}, noon, Now, noon},
		{noon.Add(time.Hour), noon, Now, noon},
		{noon, noon.Add(time.Hour), Later, noon.Add(time.Hour + pause)}, // it is not ahead any more
	} {
		r := Rules{Now: c.now, Loop: true, Retry: pause, Poll: pause}
		due, at := r.Due(&Directive{Name: "D-1", Said: comms.Said{Hash: "h"}, Unit: Unit{Last: u, Seen: c.seen}})
		if due != c.due || !at.Equal(c.at) {
			t.Errorf("seen %s, at %s: %d at %s, want %d at %s", c.seen, c.now, due, at, c.due, c.at)
		}
	}
}
