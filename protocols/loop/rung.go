package loop

import (
	"fmt"
	"slices"
)

// The verification rungs (003, section 11). People read Words.
const (
	Rung641    = 641
	Rung274177 = 274177
	Rung65537  = 65537
)

// Reaches reports whether a rung is at least as strong as another. Their order is not numeric:
// 65537 is the strongest. It is false if other is no rung.
func Reaches(rung, other int) bool {
	ascending := []int{0, Rung641, Rung274177, Rung65537}
	wanted := slices.Index(ascending, other)
	return wanted >= 0 && slices.Index(ascending, rung) >= wanted
}

// RungWords is a rung for people (docs/glossary.md).
func RungWords(rung int) string {
	switch rung {
	case Rung641:
		return "checked"
	case Rung274177:
		return "replayed"
	case Rung65537:
		return "adversarial"
	}
	return "none"
}

// RungEvidence is the input of Rung. The achieved rung is always computed from it, never copied from
// the target (LOOP-9).
type RungEvidence struct {
	Certificate Certificate
	History     []Residual // of all iterations
	Verdict     *Verdict
	Complete    bool // the evidence has every required file, with matching digests
}

// Rung returns the highest rung whose requirements and those of all lower rungs are met, 0 for none,
// and what is missing for the next one.
func Rung(e RungEvidence) (rung int, missing []string) {
	need := func(ok bool, what string) {
		if !ok {
			missing = append(missing, what)
		}
	}
	t := e.Certificate.Type
	need((t == Exact || t == Converged) && len(e.Certificate.Problems()) == 0, "a halting certificate that holds")
	need(e.Verdict != nil && e.Verdict.Commit == e.Certificate.Commit && !e.Verdict.Suite.failed() && !e.Verdict.Validate.failed(), "no regressions in existing tests")
	need(e.Complete, "a complete evidence bundle")
	if len(missing) > 0 {
		return 0, missing
	}
	need(known(e.History), "a residual history without gaps")
	need(e.Verdict.Trials >= 2 && e.Verdict.Agree, "two replays with the same verdict")
	if err := SelfTest(); err != nil {
		missing = append(missing, err.Error())
	}
	if len(missing) > 0 {
		return Rung641, missing
	}
	if missing = e.Verdict.missing65537(); len(missing) > 0 {
		return Rung274177, missing
	}
	return Rung65537, nil
}

func known(history []Residual) bool {
	for _, r := range history {
		if r.IsNull() {
			return false
		}
	}
	return len(history) > 0
}

// SelfTest checks the checker, as rung 274177 requires each time (003, section 11): the criteria
// checker's null cases, and divergence on synthetic residuals.
func SelfTest() error {
	passed := Trial{Criteria: []Outcome{{Criterion: "c", Command: "true", Met: true}}}
	p := Declaration{Certificates: []string{Exact, Converged}, Rp: count(1), Commands: []Criterion{{"c", "true"}}}
	empty, noCommand, withResidual := p, p, p
	empty.Commands = nil
	noCommand.Commands = []Criterion{{"c", ""}}
	noCommand.Residual, withResidual.Residual = "r", "r"
	for _, sweep := range []struct {
		name string
		p    Declaration
		t    Trial
		want string
	}{
		{"a met criterion", p, passed, Exact},
		{"no outcome", p, Trial{}, None},
		{"a criterion without a command", noCommand, passed, None},
		{"a residual that is null", withResidual, Trial{Criteria: passed.Criteria, Residual: &Outcome{Met: true}}, None},
	} {
		if got, _ := sweep.p.judge(sweep.t); got != sweep.want {
			return fmt.Errorf("the criteria checker takes %s for %s", sweep.name, got)
		}
	}
	empty.Certificates = []string{Exact}
	if got, _ := empty.judge(Trial{}); got != None {
		return fmt.Errorf("the criteria checker takes an empty list for %s", got)
	}
	var null Residual
	for _, s := range []struct {
		history []Residual
		want    bool
	}{
		{[]Residual{count(1), count(2), count(3)}, true}, {[]Residual{count(1), count(2), count(2)}, false},
		{[]Residual{count(1), null, count(3)}, false}, {[]Residual{count(1), count(2)}, false}, {[]Residual{null, null, null}, false},
	} {
		if Diverges(s.history) != s.want {
			return fmt.Errorf("divergence of synthetic residuals %v is not %v", s.history, s.want)
		}
	}
	return nil
}
