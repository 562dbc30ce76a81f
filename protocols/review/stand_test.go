package review_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ward/internal/tier"
	"git-ward/protocols/comms"
	"git-ward/protocols/review"
	"git-ward/protocols/schedule"
	"git-ward/protocols/uow"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// walk is a unit of D-1 under random steps of anybody, each a legal one.
type walk struct {
	*testing.T
	*rand.Rand
	directive *comms.Directive
	records   []*uow.Record
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func (w *walk) last() *uow.Record { return w.records[len(w.records)-1] }

// world is what the project says for a unit of the directive's present text, or of an earlier one.
func (w *walk) world(hash string) uow.World {
	policy := uow.DefaultPolicy()
	policy.PilotPulse, policy.MaxRetries = 3, 1
	return uow.World{Main: &uow.Main{DirectiveHash: hash, Total: uow.Totals(60), Policy: policy}}
}

// step takes a step, where it is one.
func (w *walk) step(in uow.Input, hash string) bool {
	var prev *uow.Record
	if len(w.records) > 0 {
		prev = w.last()
	}
	in.Time = noon
	if in.Event == uow.MakeClaim {
		in.Commit, in.Record = strings.Repeat("c", 40), strings.Repeat("d", 40)
	}
	next, found := uow.Advance(uow.ID{Directive: "D-1", K: 1}, prev, in, w.world(hash))
	if len(found) > 0 {
		return false
	}
	w.records = append(w.records, next)
	return true
}

// wanders takes a random step. Those on which a unit is stopped and tried again are more frequent:
// else no retries are spent.
func (w *walk) wanders(hash string) {
	for range 50 {
		e := uow.Event(pick(w.Rand, uow.Machine().Expects(string(w.last().State))))
		a := pick(w.Rand, []uow.Actor{uow.Agent, uow.PM, uow.Host})
		if w.IntN(2) == 0 {
			e, a = pick(w.Rand, []uow.Event{uow.Activate, uow.Block, uow.Retry}), uow.Agent
		}
		if codes := uow.Reasons(e, a); len(codes) > 0 && w.step(uow.Input{Event: e, Actor: a, Reason: pick(w.Rand, codes), Note: "because"}, hash) {
			return
		}
	}
}

// TestOneAnswer: over random histories all who say where a unit stands say the same: the schedule when
// it is gone on with, who works on it by what step, and people's list, the unit and the review for whom
// it waits and what to type. The step is one that the agent may take, and the command one that the unit
// takes, after which it waits for that no more.
func TestOneAnswer(t *testing.T) {
	tier.First(t, "thousands of histories")
	random := rand.New(rand.NewPCG(tier.Seed(t), 27))
	doc, _ := comms.Parse([]byte("# C\n\n## Directives\n\n### D-1: do\n\n- [ ] it is done (`true`)\n\n## Reports\n\n## Questions\n"))
	d := doc.Directive("D-1")
	if d == nil {
		t.Fatal("no directive")
	}
	now, old := d.Hash(), strings.Repeat("0", len(d.Hash()))
	seen := map[schedule.Due]int{}
	for range 3000 {
		w := &walk{T: t, Rand: random, directive: d}
		hash := pick(random, []string{now, now, old})
		if !w.step(uow.Input{Event: uow.Open, Actor: uow.Agent, Reason: "DIRECTIVE_OPEN"}, hash) {
			t.Fatal("no unit is opened")
		}
		for range random.IntN(25) {
			w.wanders(hash)
			seen[w.agrees(now)]++
		}
	}
	for _, due := range []schedule.Due{schedule.Now, schedule.Later, schedule.Word, schedule.Over} {
		if seen[due] < 5 {
			t.Errorf("%d was the answer %d times", due, seen[due])
		}
	}
}

// agrees holds all answers against each other, and returns the schedule's.
func (w *walk) agrees(hash string) schedule.Due {
	u := w.last()
	edited, stop := u.DirectiveHash != hash, w.IntN(4) == 0
	rules := schedule.Rules{Now: noon, Loop: true, Retry: time.Minute, Poll: time.Minute, Stop: stop}
	due, at, by := rules.Resume(u, hash)
	s := review.Stand(review.Position{Name: "D-1", Directive: w.directive, Unit: u})
	bad := func(what string) {
		w.Errorf("%s: %s by %s for %q (edited %v, stop %v): the schedule says %d at %s by %q, people read %q, of the directive %+v",
			what, u.State, u.Event, u.ReasonCode, edited, stop, due, at, by.Event, s.WaitsOf(u), s)
	}
	for n, want := range map[schedule.Due][]string{schedule.Now: {"agent", "host"}, schedule.Later: {"agent"}, schedule.Word: {"you"}, schedule.Over: {"agent", "you", ""}} {
		byStop := u.ReasonCode == uow.Stopped && u.State == uow.ZombiedSoft // people read of the cause, which passes
		if due == n && !slices.Contains(want, s.WaitsFor) && !byStop {
			bad("it waits for another")
		}
	}
	if got, _ := rules.Due(&schedule.Directive{Name: "D-1", Said: comms.Said{Hash: hash}, Unit: schedule.Unit{Last: u}}); got != due {
		bad("the directive is due at another time")
	}
	if s.Unit == u.ID && u.State != uow.Archived && s.WaitsOf(u) != s.Waits {
		bad("unit and directive wait for different things")
	}
	if by.Event != "" && !w.can(by, uow.Agent, hash) {
		bad("no step of the agent's")
	}
	typed, isVerb := strings.CutPrefix(s.Next, "git ward uow ")
	typed, _ = strings.CutSuffix(typed, " "+u.ID)
	if due != schedule.Word || !isVerb {
		return due
	}
	i := slices.IndexFunc(u.Possible(), func(e uow.Event) bool { return e.Typed() == typed })
	if i < 0 {
		bad("a command that the unit does not take")
		return due
	}
	verb := u.Possible()[i]
	after := *w
	after.records = slices.Clone(w.records)
	for _, e := range uow.Path(verb, u.State) {
		if !after.step(uow.Input{Event: e, Actor: uow.PM, Reason: uow.PathReason(e, ""), Note: "my word"}, hash) {
			bad("a command that does not go")
			return due
		}
	}
	if next, _, _ := rules.Resume(after.last(), hash); next == schedule.Word && after.last().Waits() == u.Waits() {
		bad("a command that moves nothing")
	}
	return due
}

// can reports whether somebody may take a step.
func (w *walk) can(in uow.Input, a uow.Actor, hash string) bool {
	in.Actor = a
	after := *w
	after.records = slices.Clone(w.records)
	return after.step(in, hash)
}
