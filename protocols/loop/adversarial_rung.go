package loop

import (
	"fmt"
	"slices"

	"git-ward/internal/diag"
)

// HeldOut replaces the command of a held-out criterion in a verdict (PROOF-5).
const HeldOut = "held out"

// Surface is the exported interface of the Go files that the work changed: its hash before and
// after the work, and the declarations removed and added. A changed declaration is in both lists.
type Surface struct {
	Before string   `json:"before"`
	After  string   `json:"after"`
	Gone   []string `json:"gone"`
	New    []string `json:"new"`
}

// Reached raises v to rung 65537 if v alone proves it: the host makes all that this rung needs and
// writes it into the verdict (003, section 11).
func (v Verdict) Reached() Verdict {
	if v.Rung == Rung274177 && len(v.missing65537()) == 0 {
		v.Rung = Rung65537
	}
	return v
}

// missing65537 lists the requirements of rung 65537 beyond two plain runs (LOOP-11; 003, section
// 11) that v does not meet.
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

// paraphrased reports whether held-out criteria, which state the goal in other words, are met, and
// at least one of them failed before the work.
func (v Verdict) paraphrased() bool {
	held := v.where(func(o Outcome) bool { return o.Command == HeldOut })
	asks := slices.ContainsFunc(held, func(o Outcome) bool { return !o.Before }) // one that held before says nothing of the work
	return asks && !slices.ContainsFunc(held, func(o Outcome) bool { return o.failed() })
}

// drift lists changes, seen or possible, that no criterion explains.
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

// where returns the criteria's outcomes for which so is true.
func (v Verdict) where(so func(Outcome) bool) []Outcome {
	return slices.DeleteFunc(slices.Clone(v.Criteria), func(o Outcome) bool { return !so(o) })
}
