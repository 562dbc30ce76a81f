package verifier

import (
	"slices"
	"testing"

	"git-ward/internal/tier"
	"git-ward/protocols/loop"
)

// TestManifests: what lies beside the work, can end no command and checks nothing leaves no
// doubt: a manifest, and the empty file that makes a directory of tests a package (PROOF-3).
func TestManifests(t *testing.T) {
	for name, c := range map[string]trial{
		"go: a dependency more": {"go", files{"go.mod": goMod, "calc.go": badGo}, files{"go.mod": goMod + "\nrequire example.org/in v0.0.0\n\nreplace example.org/in => ./third\n", "calc.go": "package calc\n\nimport \"example.org/in\"\n\nfunc Two() int { return in.Two }\n",
			"third/go.mod": "module example.org/in\n", "third/in.go": "package in\n\nconst Two = 2\n"}, "go vet example.org/in ./...", loop.ControlNotApplicable, nil, true},
		"python: the first tests": {"python3", files{"pyproject.toml": "[project]\nname = \"calc\"\n", "calc/__init__.py": badPy}, files{"calc/__init__.py": goodPy, "tests/__init__.py": "# Tests.\n", "tests/test_calc.py": testPy},
			"python3 -m unittest discover -s tests -t .", loop.ControlFails, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			tier.First(t, "it runs many commands")
			t.Parallel()
			f := c.judge(t, "")
			if want := []Control{{"criterion 1", false, c.want}}; !f.OK() || !slices.Equal(f.Controls, want) {
				t.Errorf("%v, not %v: %+v", f.Controls, want, f.Replays)
			}
		})
	}
}
