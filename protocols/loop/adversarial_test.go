package loop

import (
	"slices"
	"strings"
	"testing"
)

// proved is a declaration with one criterion, and two runs that meet it.
func proved() (Declaration, Verdict) {
	p := Declaration{Certificates: []string{Exact}, Commands: []Criterion{{"c", "make check"}}}
	return p, Judge(p, []Trial{run(0), run(0)})
}

func run(exit int) Trial {
	return Trial{Criteria: []Outcome{{Criterion: "c", Command: "make check", Met: exit == 0, ExitCode: exit}}}
}

// TestLacking: a program that is missing is the reason of a verdict NONE and of the
// loop's end, and never of one that was met without it.
func TestLacking(t *testing.T) {
	m := MissingTool{Tool: "make", Command: "make check", Place: "the image x", Remedy: "bring it"}
	p, v := proved()
	if v = v.Lacking(m); v.MissingTool != nil || v.Verdict != Exact {
		t.Error(v)
	}
	v = Judge(p, []Trial{run(127)}).Lacking(m)
	if v.Reason != "make: not found in the image x (`make check` needs it); bring it" {
		t.Error(v.Reason)
	}
	d, missing := v.Lacks()
	if to, err := Next(CheckHalting, d.Event); !missing || d.Reason != ToolMissing || err != nil || string(to) != string(ExitBlocked) {
		t.Error(d, to, err)
	}
}

// TestAgainstIt: a run against the work that comes to another end takes the verdict
// away; what was not done is not claimed (LOOP-11).
func TestAgainstIt(t *testing.T) {
	p, v := proved()
	for _, kind := range []string{RunShuffled, RunCold, RunSecondImage} {
		if bad := v.AgainstIt(p, kind, run(1)); bad.Verdict != None || bad.Agree || bad.Rung != 0 || !bad.Sound() || !slices.Contains(bad.Runs, RunEnd{kind, 1}) {
			t.Errorf("%s: %+v", kind, bad)
		}
	}
	all := v.AgainstIt(p, RunShuffled, run(0)).AgainstIt(p, RunCold, run(0))
	if all.Verdict != Exact {
		t.Error(all.Verdict)
	}
}

// TestReached: a verdict reaches rung 65537 by what stands in it, and each part that is missing is
// named (003, section 11).
func TestReached(t *testing.T) {
	whole := func() Verdict {
		_, v := proved()
		v.Criteria = append(slices.Clone(v.Criteria), Outcome{Criterion: "held out, 1 of 1", Command: HeldOut, Met: true})
		v.Runs = []RunEnd{{RunShuffled, 0}, {RunSecondImage, 0}}
		v.Mutants, v.Surface, v.Gate = &Mutants{Made: 2, Killed: 2}, &Surface{New: []string{".: func F()"}}, "c0ffee"
		v.Suite = &Outcome{Met: true}
		return v
	}
	if v := whole(); v.Reached().Rung != Rung65537 {
		t.Error(v.missing65537())
	}
	for want, change := range map[string]func(v *Verdict){
		"a run with the tests in another order":              func(v *Verdict) { v.Runs[0].Exit = 1 },
		"a run with a cold cache or in a second image":       func(v *Verdict) { v.Runs = v.Runs[:1] },
		"mutants of the changed lines":                       func(v *Verdict) { v.Mutants = nil },
		"commands that notice each of 2 changes to the work": func(v *Verdict) { v.Mutants.Survived = []string{"a.go:3: < is <="} },
		"3 of 9 mutants": func(v *Verdict) { v.NotDone = []string{"3 of 9 mutants"} },
		"the gate's record of the push of the work":           func(v *Verdict) { v.Gate = "" },
		"criteria that are held out":                          func(v *Verdict) { v.Criteria = v.Criteria[:1] },
		"criteria that are held out, which":                   func(v *Verdict) { v.Criteria[1].Met = false },
		"criteria that are held out, which are":               func(v *Verdict) { v.Criteria[1].Before = true },
		"mutants of the changed":                              func(v *Verdict) { v.Mutants.Made = 0 },
		"snapshots of the interface":                          func(v *Verdict) { v.Surface = nil },
		"an interface that lost nothing (1 declaration went)": func(v *Verdict) { v.Surface.Gone = []string{".: func F()"} },
		"[verify] suite, or a criterion that held before":     func(v *Verdict) { v.Suite = nil },
		"a verdict without this doubt: 1 lost test: TestGone": func(v *Verdict) { v.Lost = []string{"TestGone"} },
	} {
		v := whole()
		change(&v)
		if missing := v.missing65537(); v.Reached().Rung != Rung274177 || len(missing) != 1 || !strings.HasPrefix(missing[0], want) {
			t.Errorf("%s: %d, %q", want, v.Reached().Rung, missing)
		}
	}
	v := whole()
	if v.Suite, v.Criteria[0].Before = nil, true; v.Reached().Rung != Rung65537 {
		t.Error(v.missing65537())
	}
	if v.Rung = Rung641; v.Reached().Rung != Rung641 { // of one run
		t.Error("one run has the rung of two")
	}
}

// TestReaches: the order of the rungs is 003's, and not that of their numbers.
func TestReaches(t *testing.T) {
	ascending := []int{0, Rung641, Rung274177, Rung65537}
	for i, rung := range ascending {
		for j, other := range ascending {
			if Reaches(rung, other) != (i >= j) {
				t.Error(rung, other)
			}
		}
		if Reaches(rung, 65538) {
			t.Errorf("%d reaches what is none", rung)
		}
	}
}
