package verifier

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/tier"
	"git-ward/protocols/loop"
)

// TestCheckers: a source of the project's own by which a command checks the work, beside its tests,
// is named where the work changed it; a program that tests look at, and new values, are not (PROOF-3).
func TestCheckers(t *testing.T) {
	tier.Full(t, "it runs many commands")
	const (
		near    = "#include <stdio.h>\nint main(int argc, char **argv) {\n\tFILE *a = fopen(argv[1], \"r\"), *b = fopen(argv[2], \"r\");\n\treturn argc != 3 || !a || !b || fgetc(a) != fgetc(b);\n}\n"
		close   = "import sys\n\nif open(sys.argv[1]).read() != open(sys.argv[2]).read():\n    sys.exit(1)\n"
		unit    = "python3 -m unittest discover -s tests -t ."
		pyCalc  = "import sys\nfrom calc import limits\n\n\ndef one():\n    return 1\n\n\ndef two():\n    return limits.TWO\n\n\nif __name__ == \"__main__\":\n    print(two())\n    sys.exit(0)\n"
		pyTests = "import subprocess\nimport sys\nimport unittest\n\nfrom calc import areas, calc\n\n\nclass T(unittest.TestCase):\n    def test_one(self):\n        self.assertEqual(calc.one(), 1)\n\n    def test_two(self):\n        self.assertEqual(calc.two(), areas.WANT[2])\n        self.assertEqual(subprocess.check_output([sys.executable, \"-m\", \"calc.calc\"]), b\"%d\\n\" % areas.WANT[2])\n"
	)
	c := files{"Makefile": "check: t prog near\n\t./t\n\t./prog >out\n\t./near out expected\n\nt: tests/t.c calc.c\n\t$(CC) -o $@ $^\n\nprog: main.c calc.c\n\t$(CC) -o $@ $^\n\nnear: near.c\n\t$(CC) -o $@ $^\n", "expected": "2\n", "near.c": near,
		"calc.c": "int one(void) { return 1; }\nint two(void) { return 1; }\n", "main.c": "#include <stdio.h>\nint two(void);\nint main(void) { printf(\"%d\\n\", two()); return 0; }\n",
		"tests/t.c": "int one(void);\nint main(void) { return one() != 1; }\n"}
	cGood := "int one(void) { return 1; }\nint two(void) { return 2; }\n"
	py := files{"pyproject.toml": "[project]\nname = \"calc\"\n", "expected": "2\n", "calc/__init__.py": "", "calc/areas.py": "WANT = {\n    2: 2,\n}\n", "calc/limits.py": "MOST = 9\nTWO = 1\n",
		"calc/calc.py": pyCalc, "calc/close.py": close, "tests/__init__.py": "", "tests/test_calc.py": pyTests,
		"Makefile": "check:\n\tpython3 -m unittest discover -s tests -t . -k one\n\tpython3 -m calc.calc >out\n\tpython3 -m calc.close out expected\n"}
	pyGood := "import sys\nfrom calc import limits\n\n\ndef one():\n    return 1\n\n\ndef two():\n    return limits.LEAST\n\n\nif __name__ == \"__main__\":\n    print(two())\n    sys.exit(0)\n"
	const cPoor = "int one(void) { return 1; }\nint two(void) { return 9; }\n"
	pyBoth := files{"pyproject.toml": "[project]\nname = \"calc\"\n", "calc/__init__.py": "", "calc/calc.py": "WANT = {2: 2}\nMOST = 4\n\n\ndef two():\n    return 9\n",
		"tests/__init__.py": "", "tests/test_calc.py": "import unittest\n\nfrom calc import calc\n\n\nclass T(unittest.TestCase):\n    def test_two(self):\n        self.assertEqual(calc.two(), calc.WANT[2])\n"}
	cAsserts := files{"Makefile": "-include more.mk\ncheck:\n\t$(CC) $(CFLAGS) -o t calc.c tests/t.c && ./t\n", "calc.c": "int one(void) { return 1; }\nint two(void) { return 1; }\n",
		"tests/t.c": "#include <assert.h>\nint two(void);\nint main(void) { for (int i = 2; i < 3; i++) assert(two() == i); return 0; }\n"}
	cData := maps.Clone(cAsserts)
	cData["Makefile"] = "-include more.mk\ncheck:\n\t$(CC) $(CFLAGS) -o t calc.c tests/t.c && ./t && test -s data\n"
	cMany := files{"Makefile": "CFLAGS = -DNDEBUG\n" + cAsserts["Makefile"], "calc.c": cPoor}
	for i := range 20 {
		cMany[fmt.Sprintf("A%02d", i)] = "x\n"
	}
	cConf := maps.Clone(cAsserts)
	cConf["Makefile"], cConf["conf"] = "check:\n\t$(CC) $$(cat conf || echo -DNDEBUG) -o t calc.c tests/t.c && ./t\n", "-O0\n"
	pyInside := maps.Clone(pyBoth)
	pyInside["calc/calc.py"] = "WANT = {2: 2}\n\n\ndef two():\n    \"\"\"\n    >>> two()\n    2\n    \"\"\"\n    return 9\n"
	all := []string{"**"}
	cGuard := maps.Clone(c)
	cGuard["calc.c"] = cGood
	for name, s := range map[string]struct {
		needs        string
		main, agents files
		line         string
		named        []string
		before       bool // the command held without the work
		work         []string
	}{
		"c: a checker says yes":              {"cc", c, files{"near.c": "int main(void) { return 0; }\n"}, "make -s check", []string{"near.c"}, false, nil},
		"c: honest":                          {"cc", c, files{"calc.c": cGood, "main.c": "#include <stdio.h>\nint two(void);\nint main(void) { return printf(\"%d\\n\", two()) < 0; }\n"}, "make -s check", nil, false, nil},
		"python: a checker says yes":         {"python3", py, files{"calc/close.py": "import sys\n"}, "make -s check", []string{"calc/close.py"}, false, nil},
		"python: other values are expected":  {"python3", py, files{"calc/areas.py": "WANT = {\n    2: 1,\n}\n"}, unit, []string{"calc/areas.py"}, false, nil},
		"python: they are, in one line more": {"python3", py, files{"calc/areas.py": "WANT = {\n    2: 2,\n    2: 1,\n}\n"}, unit, []string{"calc/areas.py"}, false, nil},
		"c: a guard's checker says yes":      {"cc", cGuard, files{"near.c": "int main(void) { return 0; }\n", "calc.c": cPoor}, "make -s check", []string{"near.c"}, true, nil},
		"c: a guard, honest":                 {"cc", cGuard, files{"calc.c": "int one(void) { return 1; }\nint two(void) { return one() + 1; }\n"}, "make -s check", nil, true, nil},
		"c: a makefile leaves asserts out":   {"cc", cAsserts, files{"Makefile": "CFLAGS = -DNDEBUG\n" + cAsserts["Makefile"], "calc.c": cPoor}, "make -s check", []string{"Makefile"}, false, all},
		"c: two of its settings do":          {"cc", cAsserts, files{"Makefile": "CFLAGS = -DNDEBUG\n" + cAsserts["Makefile"], "more.mk": "CFLAGS += -DNDEBUG\n", "calc.c": cPoor}, "make -s check", []string{"Makefile", "more.mk"}, false, all},
		"c: two do, beside data it needs":    {"cc", cData, files{"Makefile": "CFLAGS = -DNDEBUG\n" + cData["Makefile"], "more.mk": "CFLAGS += -DNDEBUG\n", "data": "2\n", "calc.c": cPoor}, "make -s check", []string{"Makefile", "data", "more.mk"}, false, all},
		"c: one does, of many files":         {"cc", cAsserts, cMany, "make -s check", []string{"Makefile"}, false, all},
		"c: a directory in settings' place":  {"cc", cConf, files{"conf": "-", "conf/x": "x\n", "calc.c": cPoor}, "make -s check", []string{"conf"}, false, all},
		"c: a makefile of the PM's word":     {"cc", cAsserts, files{"Makefile": "CFLAGS = -DNDEBUG\n" + cAsserts["Makefile"], "calc.c": cPoor}, "make -s check", nil, false, []string{"Makefile", "calc.c"}},
		"c: a makefile that is not needed":   {"cc", cAsserts, files{"Makefile": cAsserts["Makefile"] + "clean:\n\trm -f t\n", "README": "calc\n", "calc.c": cGood}, "make -s check", nil, false, all},
		"python: values beside functions":    {"python3", pyBoth, files{"calc/calc.py": "WANT = {2: 1}\nMOST = 5\n\n\ndef two():\n    return 1\n"}, unit, []string{"calc/calc.py"}, false, nil},
		"python: the same, honest":           {"python3", pyBoth, files{"calc/calc.py": "WANT = {2: 2}\nMOST = 5\n\n\ndef two():\n    return MOST - 3\n"}, unit, nil, false, nil},
		"python: tests inside, honest":       {"python3", pyInside, files{"calc/calc.py": strings.Replace(pyInside["calc/calc.py"], "return 9", "return 2", 1)}, unit, nil, false, []string{"calc/**"}},
		"python: honest, by another limit":   {"python3", py, files{"calc/limits.py": "MOST = 9\nTWO = 2\n"}, unit, nil, false, nil},
		"python: honest, with one value":     {"python3", py, files{"calc/calc.py": pyGood, "calc/limits.py": "MOST = 9\nTWO = 1\nLEAST = 2\n"}, unit, nil, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needs(t, s.needs)
			if s.line != unit {
				needs(t, "make")
			}
			r := newRepository(t)
			claim := r.claimed(maps.Clone(s.main), s.agents, s.work, s.line)
			claim.Controls = []string{Broken}
			f, err := r.verify(claim)
			if err != nil {
				t.Fatal(err)
			}
			if want := []Control{{"criterion 1", s.before, loop.ControlFails}}; !f.OK() || !slices.Equal(f.Controls, want) || !slices.Equal(checkedBy(f), s.named) {
				t.Errorf("%v, checked by %q, not %q; %+v", f.Controls, checkedBy(f), s.named, f.Replays)
			}
			for _, l := range f.Checkers { // the PM's word
				claim.Included = append(claim.Included, Entry{l.Path, l.Mode, l.Blob})
			}
			if s.named != nil {
				if f, err = r.verify(claim); err != nil || !f.OK() || len(f.Checkers) > 0 {
					t.Errorf("after a word of the PM's: %q, %v", checkedBy(f), err)
				}
			}
		})
	}
}

// TestFewest: what fails only together is found among many names, in few questions.
func TestFewest(t *testing.T) {
	t.Parallel()
	names := strings.Fields(strings.Repeat("- ", 500) + "a - b " + strings.Repeat("- ", 500))
	for _, want := range [][]string{{"a"}, {"b"}, {"b", "a"}} {
		asked := 0
		few, err := fewest(names, func(some ...string) (bool, error) {
			asked++
			return !slices.ContainsFunc(want, func(name string) bool { return !slices.Contains(some, name) }), nil
		})
		if err != nil || !slices.Equal(few, want) || asked > 11*len(want) {
			t.Errorf("%q, not %q, after %d questions: %v", few, want, asked, err)
		}
	}
}

// checkedBy are the paths of the checkers that were found.
func checkedBy(f *Facts) (paths []string) {
	for _, l := range f.Checkers {
		paths = append(paths, l.Path)
	}
	return paths
}
