package halting

import (
	"context"

	"git-ward/vm/halting/code"
)

// search is the state that the deciders of one analysis share.
type search struct {
	ctx      context.Context
	program  code.Program
	options  Options
	live     []liveSet
	machine  *recovered
	run      *running
	overflow *Report      // a proof that only overflow ends it, if nothing better comes
	abstract *abstraction // from the start of the plan
	ranker   *ranker
}

func (s *search) prepare() {
	s.live = liveness(s.program)
	s.machine = recoverMachine(s.program, s.live, func() bool { return s.ctx.Err() != nil })
	s.run = newRunning(s.machine)
}

// simulate goes on with the simulation and reports its end or its repetition.
func (s *search) simulate(b budget, burst int64) *Report {
	b.steps = min(b.steps, s.options.steps())
	s.machine.burst, s.machine.fuel = burst, b.steps
	if s.run.stuck && s.run.retry() {
		s.run.stuck = false
	}
	s.run.advance(s.ctx, b)
	switch {
	case s.run.ended:
		return s.halted(s.run.steps, s.run.code)
	case s.run.repetition != nil:
		return s.repeats(s.run.repetition)
	}
	return nil
}

func (s *search) shortRun() *Report {
	return s.simulate(budget{moves: shortMoves, steps: 100_000, cells: maxCells, controls: maxControls}, 50_000)
}

func (s *search) longRun() *Report {
	return s.simulate(budget{moves: longMoves, steps: 20_000_000, cells: maxCells, controls: maxControls}, 10_000_000)
}

// untilTheEnd only waits for the plan to end. What overflow alone can end is
// reported as such when that does not come.
func (s *search) untilTheEnd() *Report {
	steps := s.options.steps()
	if s.overflow != nil {
		steps = min(steps, 30_000_000)
	}
	if r := s.simulate(budget{moves: steps, steps: steps, cells: maxCells, controls: maxControls}, steps); r != nil {
		return r
	}
	if r := s.plainRun(steps); r != nil {
		return r
	}
	return s.overflow
}

// plainRun executes from the start without looking for repetitions: for plans
// with so many controls that their machine is not worth recovering.
func (s *search) plainRun(steps int64) *Report {
	if len(s.machine.controls) <= maxControls {
		return nil // the simulation has gone as far
	}
	c, t := &control{}, &wideTape{}
	if n, end, ended := s.execute(c, t, steps); ended {
		return s.halted(n, end)
	}
	return nil
}

// execute runs a plan on from a configuration for some steps; ended is false when
// it still runs after them, or nothing more can be said.
func (s *search) execute(c *control, t *wideTape, steps int64) (n int64, end string, ended bool) {
	for n = 1; n <= steps; n++ {
		if n&0xfffff == 0 && s.ctx.Err() != nil || t.len() > maxCells {
			return n, "", false
		}
		switch in := &s.program[c.ip]; in.Op {
		case code.Left, code.Right:
			t.head += 2*int(in.Op-code.Left) - 1
			c.ip++
		case code.Havoc:
			return n, "", false
		default:
			if end, ok := execute(s.program, c, t.cell()); !ok {
				return n, end, true
			}
		}
	}
	return n, "", false
}

// wideTape is a tape of numbers.
type wideTape struct {
	head        int
	right, left []int64
}

func (t *wideTape) len() int { return len(t.right) + len(t.left) }

// cell is a pointer to the one under the head, until the tape grows.
func (t *wideTape) cell() *int64 {
	side, i := &t.right, t.head
	if i < 0 {
		side, i = &t.left, -1-i
	}
	if grow := i + 1 - len(*side); grow > 0 {
		*side = append(*side, make([]int64, grow)...)
	}
	return &(*side)[i]
}

// attempt is one size of a closed language.
type attempt struct{ n, history int }

// narrowLanguages tries closed languages of small windows.
func (s *search) narrowLanguages() *Report {
	return s.languages([]attempt{{1, 0}, {2, 0}, {3, 0}, {2, 2}}, 1_500)
}

// wideLanguages tries larger windows and longer histories.
func (s *search) wideLanguages() *Report {
	return s.languages([]attempt{{4, 0}, {1, 1}, {3, 1}, {3, 2}, {2, 4}, {3, 3}, {6, 0}, {4, 4}, {5, 2}, {8, 0}, {6, 4}, {8, 3}}, 20_000)
}

func (s *search) languages(attempts []attempt, limit int) *Report {
	if s.run.stuck || len(s.machine.controls) > limit {
		return nil
	}
	s.machine.fuel, s.machine.burst = 2_000_000, 10_000
	for _, a := range attempts {
		if s.ctx.Err() != nil {
			return nil
		}
		from := s.run
		if a.history > 0 {
			from = newRunning(s.machine) // histories start with the plan
		}
		if p := closedLanguage(from, a.n, a.history, limit); p != nil {
			return s.closed(p)
		}
	}
	return nil
}

// abstractly interprets from the start of the plan.
func (s *search) abstractly() *Report {
	if len(s.program) > maxAbstract {
		return nil
	}
	s.abstract = interpret(s.ctx, s.program, s.live, start{})
	if s.abstract == nil {
		return nil
	}
	s.ranker = s.abstract.rank(s.ctx)
	return s.interpreted(s.abstract, s.ranker)
}

// abstractlyLater interprets from where the simulation stands.
func (s *search) abstractlyLater() *Report {
	if len(s.program) > maxAbstract || s.run.steps == 0 {
		return nil
	}
	// The simulation has forgotten what is dead; the proof is about all.
	c, t := &control{}, &wideTape{}
	s.execute(c, t, s.run.steps)
	at := start{control: *c, after: s.run.steps, cells: append(t.left, t.right...)}
	a := interpret(s.ctx, s.program, s.live, at)
	if a == nil {
		return nil
	}
	return s.interpreted(a, a.rank(s.ctx))
}

// interpreted draws what follows from an abstraction.
func (s *search) interpreted(a *abstraction, r *ranker) *Report {
	ends := a.allEnds()
	switch {
	case len(ends) == 0:
		return s.neverEnds(a)
	case len(ends) == 1 && ends[0] == code.Overflow:
		if len(r.unranked) == 0 && len(r.overflowing) == 0 {
			return s.ranked(a, r)
		}
		if s.overflow == nil {
			s.overflow = s.onlyOverflow(a)
		}
		return nil
	case len(r.unranked) == 0 && len(r.overflowing) == 0:
		return s.ranked(a, r)
	}
	return nil
}
