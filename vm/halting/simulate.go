package halting

import (
	"context"

	"git-ward/vm/halting/proof"
)

// tape is the recovered machine's: symbols around a middle that grows both ways.
type tape struct {
	cells  []int32
	origin int // index of cell 0
}

func (t *tape) clone() tape {
	return tape{append([]int32(nil), t.cells...), t.origin}
}

// reach makes room for cell i and says where it is.
func (t *tape) reach(i int) int {
	for t.origin+i < 0 || t.origin+i >= len(t.cells) {
		n := max(len(t.cells), 64)
		grown := make([]int32, 3*n)
		copy(grown[n:], t.cells)
		t.cells, t.origin = grown, t.origin+n
	}
	return t.origin + i
}

func (t *tape) at(i int) int32 {
	if i += t.origin; i >= 0 && i < len(t.cells) {
		return t.cells[i]
	}
	return 0
}

// snapshot is a configuration that later ones are compared with.
type snapshot struct {
	taken   bool
	control int32
	head    int
	moves   int64 // transitions before it
	steps   int64 // instructions before it
	tape    tape
	low     int // the cells that the head has stood on since
	high    int
	differs int // where the last comparison found a difference
}

func (s *snapshot) take(r *running) {
	*s = snapshot{taken: true, control: r.control, head: r.head, moves: r.moves, steps: r.steps,
		tape: r.tape.clone(), low: r.head, high: r.head}
}

func (s *snapshot) visit(head int) { s.low, s.high = min(s.low, head), max(s.high, head) }

// running is a simulation of the recovered machine that looks for its end or for
// a repetition, exact or shifted.
type running struct {
	machine  *recovered
	tape     tape
	control  int32
	head     int
	moves    int64
	steps    int64 // instructions
	leftmost int
	right    int // most
	ended    bool
	code     string
	stuck    bool // what comes next is not known within the budget

	exact      snapshot
	atLeft     snapshot // taken when the head reached a new leftmost cell
	atRight    snapshot
	repetition *proof.Cycle
}

func newRunning(m *recovered) *running {
	return &running{machine: m, tape: tape{make([]int32, 192), 96}}
}

// budget of a simulation.
type budget struct {
	moves    int64
	steps    int64
	cells    int
	controls int
}

// advance simulates until the plan ends, repeats, or a budget is spent.
func (r *running) advance(ctx context.Context, b budget) {
	for !r.ended && !r.stuck && r.repetition == nil {
		if r.moves >= b.moves || r.steps >= b.steps || len(r.tape.cells) > b.cells || len(r.machine.controls) > b.controls {
			return
		}
		if r.moves&0xffff == 0 && ctx.Err() != nil {
			return
		}
		r.watch()
		if r.repetition == nil {
			r.move()
		}
	}
}

// move makes one transition.
func (r *running) move() {
	i := r.tape.reach(r.head)
	t := r.machine.at(r.control, r.tape.cells[i])
	switch t.effect {
	case moves:
		r.tape.cells[i] = t.write
		r.control = t.next
		r.head += int(t.dir)
		r.moves++
		r.steps += t.cost
	case halts:
		r.ended, r.code = true, t.code
		r.steps += t.cost
	case spins:
		r.repetition = &proof.Cycle{At: r.steps + t.cost, Period: t.period}
	default:
		r.stuck = true
	}
}

// watch compares the present configuration with the snapshots, and takes new
// ones at times that double (Brent), so that any repetition is found before
// three times the steps that it needs.
func (r *running) watch() {
	e := &r.exact
	e.visit(r.head)
	if e.taken && r.moves > e.moves && r.control == e.control && r.head == e.head && r.sameTape(e, e.low, e.high, 0) {
		r.found(e)
		return
	}
	if !e.taken || r.moves >= 2*e.moves+8 {
		e.take(r)
	}
	r.atRight.visit(r.head)
	r.atLeft.visit(r.head)
	if r.head > r.right {
		r.right = r.head
		r.record(&r.atRight, 1)
	} else if r.head < r.leftmost {
		r.leftmost = r.head
		r.record(&r.atLeft, -1)
	}
}

// record handles a head that has reached a new outermost cell: beyond it the
// tape is empty, so that a repetition needs only the cells back to where the
// head has turned since.
func (r *running) record(s *snapshot, dir int) {
	if s.taken && r.control == s.control {
		low, high := s.low, s.head
		if dir < 0 {
			low, high = s.head, s.high
		}
		if r.sameTape(s, low, high, r.head-s.head) {
			r.found(s)
			return
		}
	}
	if !s.taken || r.moves >= 2*s.moves+8 {
		s.take(r)
	}
}

// sameTape looks first where the tapes differed before: a head that returns to its
// old place again and again must not pay for the whole tape each time.
func (r *running) sameTape(s *snapshot, low, high, shift int) bool {
	differs := func(i int) bool { return s.tape.at(i) != r.tape.at(i+shift) }
	if low <= s.differs && s.differs <= high && differs(s.differs) {
		return false
	}
	for i := high; i >= low; i-- {
		if differs(i) {
			s.differs = i
			return false
		}
	}
	return true
}

func (r *running) found(s *snapshot) {
	r.repetition = &proof.Cycle{At: s.steps, Period: r.steps - s.steps, Shift: int64(r.head - s.head)}
}

// retry forgets a transition that did not fit a smaller budget; false when there
// is none that a larger one would help.
func (r *running) retry() bool {
	row := r.machine.table[r.control]
	sym := r.tape.at(r.head)
	if int(sym) >= len(row) || row[sym].effect != tooFar {
		return false
	}
	row[sym] = transition{}
	return true
}
