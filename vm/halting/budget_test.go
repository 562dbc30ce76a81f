package halting

import (
	"context"
	"math"
	"strings"
	"testing"

	"git-ward/vm/asm"
	"git-ward/vm/halting/code"
	"git-ward/vm/halting/proof"
)

// TestDeadlineGone: a push may bring many plans for one deadline. Behind it not
// even their sub-plans are looked up.
func TestDeadlineGone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := Options{Plan: func(string) (*asm.Program, bool) { t.Error("a sub-plan was looked up"); return nil, false }}
	if r := Analyze(ctx, parse(t, "CALL plan x"), o); r.Risk != Unknown || r.Loops == nil || !strings.Contains(r.Reason, "time") {
		t.Errorf("%+v", r)
	}
}

// TestMillion: finding the loops of a million instructions, which is done when the
// time is over already, takes a few tables and no maps.
func TestMillion(t *testing.T) {
	const size = 1_000_000
	ring := make([]int, size+1) // node i leads to i+1, the last to the first
	for i := range ring {
		ring[i] = i % size
	}
	graph := newTarjan(size, func(i int) []int { return ring[i+1 : i+2] })
	if found := graph.components([]int{5, 6, 7}); found != nil {
		t.Errorf("a part without a cycle has %v", found)
	}
	if found := graph.all(); len(found) != 1 || len(found[0]) != size {
		t.Errorf("%d loops", len(found))
	}
	if allocated := testing.AllocsPerRun(1, func() { graph.all() }); allocated > 500 {
		t.Errorf("%v allocations", allocated)
	}
}

// TestSameTape: a head that comes back to an old place on a long tape, of which only
// the far end has changed, compares that end first, and does not pay for all of the tape.
func TestSameTape(t *testing.T) {
	const length = 1 << 20
	m := recoverMachine(parseFlat(t, "HALT"), []liveSet{0, 0}, func() bool { return false })
	r := newRunning(m)
	r.tape.reach(length)
	var s snapshot
	s.take(r)
	const far = 5
	r.tape.cells[r.tape.reach(far)] = 1
	if r.sameTape(&s, 0, length, 0) || s.differs != far {
		t.Fatalf("the tapes differ at %d, and it says %d", far, s.differs)
	}
	// Who now looks at the whole tape meets another difference at once.
	r.tape.cells[r.tape.reach(length)] = 1
	if r.sameTape(&s, 0, length, 0) || s.differs != far {
		t.Errorf("it looked elsewhere first, and found %d", s.differs)
	}
}

func parseFlat(t *testing.T, text string) code.Program { return Flat(parse(t, text), Options{}) }

// TestManySteps: the greatest number of steps does not wrap into a small one.
func TestManySteps(t *testing.T) {
	if l := (Options{Steps: math.MaxInt64}).Limits(); l.Steps < math.MaxInt64/2 {
		t.Errorf("%d", l.Steps)
	}
}

// TestBusyProof: a made-up language in which 10^10 pairs of a view and what may
// follow it stand would keep a checker busy for an hour. It counts its work, and gives up.
func TestBusyProof(t *testing.T) {
	p := parseFlat(t, "LABEL a\nRIGHT\nJMP a")
	const many = 60_000
	l := &proof.Language{N: 2, Controls: []proof.Control{{IP: 0}, {IP: 1}}, Marks: make([]int64, many)}
	for i := range many { // all marks are 0; word i is [0 i]
		l.Words = append(l.Words, []int{0, i})
		l.Right = append(l.Right, i)
		l.Left = append(l.Left, i)
		l.Views = append(l.Views, proof.View{0, 0, 0, i, 0}, proof.View{1, 0, 0, i, 0}, proof.View{0, i, 0, 0, 0})
	}
	pr := &proof.Proof{Claim: proof.Never, Program: proof.Fingerprint(p), Language: l}
	limits := proof.Default
	limits.Entries, limits.Steps = 10*many, 10_000_000
	if err := proof.Check(t.Context(), p, pr, limits); err == nil || err.Error() != "the language is beyond the checker's limit" {
		t.Errorf("it did not give up: %v", err)
	}
}
