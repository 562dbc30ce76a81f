// Package halting decides whether a plan ends, and proves it (UDC-5).
//
// It is a pipeline of small deciders, cheap ones first. Each gives a proof that
// the package proof checks with its own code before anything is reported:
//
//   - execution: plans have no input, so a run that ends is a proof (simulate.go);
//   - repetition: the same configuration again, or the same moved along the tape;
//   - closed languages: a set of local views of the tape that no step leaves and
//     in which nothing halts (language.go);
//   - abstract interpretation with difference bounds and congruences
//     (abstract.go): no end can be reached, or by overflow only;
//   - lexicographic ranking of registers under those bounds (ranking.go).
//
// The middle two work on the Turing machine that a plan is, recovered by
// executing it rather than by its text (recovered.go).
package halting

import (
	"context"
	"math"

	"git-ward/vm/asm"
	"git-ward/vm/halting/code"
	"git-ward/vm/halting/proof"
)

// Options are what a plan may call and how much work the analysis may do. The
// same options give the same report.
type Options struct {
	Calls []string                               // tools that the machine admits
	Plan  func(name string) (*asm.Program, bool) // registered plans, false for no such name; nil: unknown
	Steps int64                                  // instructions to execute; 0 means DefaultSteps
}

// Budgets of an analysis.
const (
	DefaultSteps = 400_000_000 // the 5-state busy beaver takes 283 million
	maxFlat      = 1 << 20     // instructions of sub-plans, copied in at each call
	maxCells     = 1 << 21     // of the tape in a simulation
	shortMoves   = 1_500       // of the first simulation
	longMoves    = 150_000     // of the second
	maxControls  = 5_000       // of a recovered machine
	abstractWork = 400_000     // steps of the abstract interpretation
	maxAbstract  = 20_000      // instructions that it takes on
)

// Flat is the form of a plan that proofs are about.
func Flat(p *asm.Program, o Options) code.Program {
	return code.Lower(p, code.Environment{Calls: o.Calls, Plan: o.Plan, Room: maxFlat})
}

// Limits are the checker's, so that every proof found under the options passes.
func (o Options) Limits() proof.Limits {
	l := proof.Default
	l.Steps = max(l.Steps, 2*min(o.steps(), math.MaxInt64/2))
	return l
}

func (o Options) steps() int64 {
	if o.Steps == 0 {
		return DefaultSteps
	}
	return o.Steps
}

// Analyze gives the verdict on a plan. When ctx ends it gives what it has. When it
// has ended before, not even the plan is looked at: many may share one deadline.
func Analyze(ctx context.Context, p *asm.Program, o Options) Report {
	if ctx.Err() != nil {
		return Report{Risk: Unknown, Reason: outOfTime, Loops: []Loop{}}
	}
	return analyze(ctx, Flat(p, o), o)
}

func analyze(ctx context.Context, p code.Program, o Options) Report {
	s := &search{ctx: ctx, program: p, options: o}
	s.prepare()
	for _, decide := range []func() *Report{
		s.shortRun,
		s.narrowLanguages,
		s.abstractly,
		s.longRun,
		s.wideLanguages,
		s.abstractlyLater,
		s.untilTheEnd,
	} {
		if r := decide(); r != nil {
			if r.Loops == nil {
				r.Loops = []Loop{}
			}
			return s.sure(r)
		}
	}
	return s.undecided()
}

// sure lets a verdict with a proof pass only when the checker agrees.
func (s *search) sure(r *Report) Report {
	r.Proof.Program = proof.Fingerprint(s.program)
	if err := proof.Check(s.ctx, s.program, r.Proof, s.options.Limits()); err != nil {
		if rejected != nil {
			rejected(s.program, r, err)
		}
		return s.undecided()
	}
	return *r
}

// rejected is told of proofs that the checker refuses; tests set it.
var rejected func(code.Program, *Report, error)
