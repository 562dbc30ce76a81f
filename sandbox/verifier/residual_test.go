package verifier

import (
	"slices"
	"testing"

	"git-ward/internal/tier"
	"git-ward/protocols/loop"
)

// TestResidualControl: a residual has its control by what it prints, for it may exit with 0
// whatever that is; where it is low enough without every criterion, it has one all the same
// (PROOF-3).
func TestResidualControl(t *testing.T) {
	tier.First(t, "it runs many commands")
	needs(t, "python3")
	const failures = "python3 -m unittest discover -s tests -t . 2>&1 | grep -cE '^(FAIL|ERROR):'; true"
	main := files{"pyproject.toml": "[project]\nname = \"calc\"\n", "calc/__init__.py": badPy, "tests/__init__.py": "", "tests/test_calc.py": testPy}
	for name, c := range map[string]struct {
		work, criterion, below, says string
		both                         bool
	}{
		"honest, exact":          {goodPy, "true", "", loop.ControlFails, true},
		"an exit, exact":         {exitPy, "true", "", loop.ControlCannotFail, true},
		"honest, converged":      {goodPy, "false", "1", loop.ControlFails, false},
		"an exit, converged":     {exitPy, "false", "1", loop.ControlCannotFail, false},
		"it is not low enough":   {badPy + "\n", "false", "1", "", false},
		"only zero is declared":  {goodPy, "false", "", "", false},
		"what must be met fails": {goodPy, "must", "1", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t)
			line := c.criterion
			if line == "must" {
				line = "false"
			}
			claim := r.claimed(main, files{"calc/__init__.py": c.work}, nil, line, failures)
			claim.Controls = []string{Broken}
			claim.Commands[0].Must = c.criterion == "must"
			claim.Commands[1].Residual, claim.Commands[1].Below = true, c.below
			f, err := r.verify(claim)
			if err != nil {
				t.Fatal(err)
			}
			var want []Control
			if c.both {
				want = append(want, Control{"criterion 1", true, loop.ControlNotApplicable})
			}
			if c.says != "" {
				want = append(want, Control{"criterion 2", false, c.says})
			}
			if !slices.Equal(f.Controls, want) {
				t.Errorf("%v, not %v: %+v", f.Controls, want, f.Replays)
			}
		})
	}
}
