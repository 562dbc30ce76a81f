package verifier

import (
	"maps"
	"slices"
	"testing"

	"git-ward/internal/tier"
)

// TestRows: a row of a table that passes without the work, and is not there or is skipped with it,
// is lost, whatever its test says (PROOF-4).
func TestRows(t *testing.T) {
	tier.Full(t, "it runs hundreds of commands")
	goMain := files{"go.mod": goMod, "calc.go": "package calc\n\nfunc Double(n int) int { return n + n%3 }\n",
		"calc_test.go": "package calc\n\nimport (\n\t\"fmt\"\n\t\"testing\"\n)\n\nvar cases = []struct{ in, want int }{{1, 2}, {2, 4}, {3, 6}}\n\nfunc TestDouble(t *testing.T) {\n\tfor _, c := range cases {\n\t\tc := c\n\t\tt.Run(fmt.Sprint(\"of \", c.in), func(t *testing.T) {\n\t\t\tt.Parallel()\n\t\t\tif Double(c.in) != c.want {\n\t\t\t\tt.Error(c.in)\n\t\t\t}\n\t\t})\n\t}\n}\n"}
	// What calls a test with each set of parameters and says so as pytest does, which machines lack.
	const pytest = "python3 -c \"import os, sys; sys.path[:0] = ['.', 'tests']; import test_calc as t\nfor p in t.cases():\n os.environ['PYTEST_CURRENT_TEST'] = 'tests/test_calc.py::test_double[%d] (call)' % p\n t.test_double(p)\""
	pyMain := files{"pyproject.toml": "[project]\nname = \"calc\"\n", "calc/__init__.py": "CASES = [1, 2]\n\n\ndef double(n):\n    return 2 * n\n",
		"tests/test_calc.py": "import calc\n\n\ndef cases():\n    return calc.CASES  # parametrize\n\n\ndef test_double(n):\n    assert calc.double(n) == 2 * n\n"}
	const double = "package calc\n\nfunc Double(n int) int { return 2 * n }\n"
	for name, c := range map[string]struct {
		needs        string
		main, agents files
		line         string
		lost         []string
	}{
		"go: honest":             {"go", goMain, files{"calc.go": double}, "go test ./...", nil},
		"go: honest, as it says": {"go", goMain, files{"calc.go": double}, "go test -v -count=2 ./... 2>&1 | grep -q ^ok", nil},
		"go: a row goes":         {"go", goMain, files{"calc.go": "package calc\n\nfunc init() { cases = cases[1:] }\n\nfunc Double(n int) int { return 2 * n }\n"}, "go test ./...", []string{"calc_test.go: TestDouble/of_1"}},
		"python: honest":         {"python3", pyMain, files{"calc/__init__.py": "CASES = [1, 2]\n\n\ndef double(n):\n    return n + n\n"}, pytest, nil},
		"python: a row goes":     {"python3", pyMain, files{"calc/__init__.py": "CASES = [2]\n\n\ndef double(n):\n    return n + n\n"}, pytest, []string{"tests/test_calc.py: test_double[1]"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needs(t, c.needs)
			line := c.line
			if c.needs == "go" {
				line = goLine(t, line)
			}
			r := newRepository(t)
			claim := r.claimed(maps.Clone(c.main), c.agents, slices.Collect(maps.Keys(c.agents)), line)
			claim.Controls = []string{Broken}
			f, err := r.verify(claim)
			if err != nil {
				t.Fatal(err)
			}
			if !f.OK() || !slices.Equal(f.Lost, c.lost) {
				t.Errorf("lost %q, not %q; %+v %+v", f.Lost, c.lost, f.Controls, f.Replays)
			}
		})
	}
}
