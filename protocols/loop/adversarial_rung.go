package loop

import (
	"fmt"
	"slices"

	"git-ward/internal/diag"
)

// HeldOut stands in a verdict for the command of a criterion that the PM holds out (PROOF-5).
const HeldOut = "held out"

// Surface has what the Go files that the work changed show to other packages: a hash of all of it
// before the work and after, and the declarations that are gone or new. A changed one is both.
type Surface struct {
	Before string   `json:"before"`
	After  string   `json:"after"`
	Gone   []string `json:"gone"`
	New    []string `json:"new"`
}

// Reached is the verdict with the rung that it reaches by itself: all that rung 65537 needs is
// made by the host and stands in the verdict (003, section 11).
func (v Verdict) Reached() Verdict {
	if v.Rung == Rung274177 && len(v.missing65537()) == 0 {
		v.Rung = Rung65537
	}
	return v
}

// missing65537 is what the rung needs beyond two plain runs (LOOP-11; 003, section 11) and the
// verdict does not show, and what its runs showed to be lacking.
func (v Verdict) missing65537() (missing []string) {
	did := func(kinds ...string) bool {
		return slices.ContainsFunc(v.Runs, func(r RunEnd) bool { return slices.Contains(kinds, r.Kind) && r.Exit == 0 })
	}
	need := func(ok bool, what string) {
		if !ok {
			missing = append(missing, what)
		}
	}
	need(did(RunShuffled), "a run with the tests in another order")
	need(did(RunCold, RunSecondImage), "a run with a cold cache or in a second image")
	switch m := v.Mutants; {
	case m == nil || m.Made == 0:
		missing = append(missing, "mutants of the changed lines")
	case len(m.Survived) > 0:
		missing = append(missing, fmt.Sprintf("commands that notice each of %s to the work (%d survived)", diag.Count(m.Made, "change"), len(m.Survived)))
	}
	missing = append(missing, v.NotDone...)
	need(v.Gate != "", "the gate's record of the push of the work")
	need(v.paraphrased(), "criteria that are held out, which are the goal in words that the agent has not seen (git ward directive hold)")
	need(v.Surface != nil, "snapshots of the interface")
	return append(missing, v.drift()...)
}

// paraphrased reports whether the goal in other words came to the same verdict: criteria that the
// PM holds out are met.
func (v Verdict) paraphrased() bool {
	held := v.where(func(o Outcome) bool { return o.Command == HeldOut })
	asks := slices.ContainsFunc(held, func(o Outcome) bool { return !o.Before }) // one that held before says nothing of the work
	return asks && !slices.ContainsFunc(held, func(o Outcome) bool { return o.failed() })
}

// drift is what the work changed, or may have, and no criterion explains.
func (v Verdict) drift() (list []string) {
	held := v.where(func(o Outcome) bool { return o.Before && o.Command != HeldOut && !o.failed() })
	if v.Suite == nil && len(held) == 0 {
		list = append(list, "[verify] suite, or a criterion that held before the work, to see what else changed")
	}
	if s := v.Surface; s != nil && len(s.Gone) > 0 {
		list = append(list, fmt.Sprintf("an interface that lost nothing (%s went)", diag.Count(len(s.Gone), "declaration")))
	}
	for _, d := range v.Against() {
		list = append(list, "a verdict without this doubt: "+d.Words())
	}
	return list
}

// where are the criteria's outcomes of a kind.
func (v Verdict) where(so func(Outcome) bool) []Outcome {
	return slices.DeleteFunc(slices.Clone(v.Criteria), func(o Outcome) bool { return !so(o) })
}
