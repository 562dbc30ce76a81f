package loop

import (
	"slices"
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
	all.Mutants = &Mutants{Made: 2, Killed: 2}
	if missing := all.missing65537(); all.Verdict != Exact || len(missing) > 0 {
		t.Error(all.Verdict, missing)
	}
	all.Mutants = &Mutants{Made: 2, Killed: 1, Survived: []string{"a.go:3: < is <="}}
	if missing := all.missing65537(); len(missing) != 1 {
		t.Error(missing)
	}
	if missing := v.missing65537(); len(missing) != 3 {
		t.Error(missing)
	}
}
