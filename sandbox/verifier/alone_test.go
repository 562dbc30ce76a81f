package verifier

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"git-ward/internal/tier"
	"git-ward/protocols/loop"
)

// TestEachAlone: work that behaves well where it sees that tests are broken is found, though a
// test beside it is honest; and so is an included test that another silences. Honest work stays
// (PROOF-3).
func TestEachAlone(t *testing.T) {
	tier.Full(t, "it runs many commands")
	goOne := "package calc\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {\n\tif One() != 1 {\n\t\tt.Fatal()\n\t}\n}\n"
	goMain := files{"go.mod": goMod, "calc.go": badGo, "calc_test.go": testGo, "one.go": otherGo, "one_test.go": goOne}
	goAware := func(sees, two string) files {
		return files{"calc.go": "package calc\n\nimport (\n\t\"os\"\n\t\"strings\"\n)\n\nvar one, _ = os.ReadFile(\"one_test.go\")\n\nvar two, _ = os.ReadFile(\"calc_test.go\")\n\nvar breaks = strings.Count(string(one)+string(two), \".Error(\")\n\nvar looks = strings.Contains(string(one), \"wardOS\")\n\nfunc init() {\n\tif " + sees + " {\n\t\tos.Exit(0)\n\t}\n}\n\nfunc Two() int { return " + two + " }\n"}
	}
	pyTest := "import unittest\n\nfrom calc import two\nfrom calc.one import one\n\n\nclass TestCalc(unittest.TestCase):\n    def test_one(self):\n        self.assertEqual(one(), 1)\n\n    def test_two(self):\n        self.assertEqual(two(), 2)\n"
	pyMain := files{"pyproject.toml": "[project]\nname = \"calc\"\n", "calc/__init__.py": badPy, "calc/one.py": "def one():\n    return 1\n", "tests/__init__.py": "", "tests/test_calc.py": pyTest}
	pyExpects := maps.Clone(pyMain)
	pyExpects["tests/test_calc.py"] = pyTest + "\n    @unittest.expectedFailure\n    def test_three(self):\n        self.assertEqual(two(), 4)\n"
	pyOS := maps.Clone(pyMain)
	pyOS["tests/test_calc.py"] = strings.NewReplacer("import unittest\n", "import unittest\nfrom unittest.mock import patch\n", "    def test_two(self", "    @patch(\"os.path.realpath\", return_value=None)\n    def test_two(self, _").Replace(pyTest)
	jsMain := files{"package.json": `{"name":"calc"}`, "calc.js": badJS, "test/calc.test.js": nodeJS + "\ntest('one', () => {});\n"}
	cMain := files{"Makefile": "check:\n\tcc -o one one.c tests/one.c && ./one\n\tcc -o two calc.c tests/two.c && ./two\n", "one.c": "int one(void) { return 1; }\n", "calc.c": "int two(void) { return 3; }\n",
		"tests/one.c": "int one(void);\n\nint main(void) { return one() != 1; }\n", "tests/two.c": "int two(void);\n\nint main(void) { return two() != 2; }\n"}
	shMain := files{"one.sh": "one() { echo 1; }\n", "calc.sh": "two() { echo 3; }\n", "tests/one.sh": ". ./one.sh\ntest \"$(one)\" = 1\n", "tests/two.sh": ". ./calc.sh\ntwo >out\ntest \"$(cat out)\" = 2\n"}
	shAll := maps.Clone(shMain)
	shAll["tests/all.sh"] = "sh tests/one.sh || exit 1\nsh tests/two.sh || exit 1\n"
	const oneLine = ". ./calc.sh\ntest \"$(sh show.sh | wc -l)\" = 1\n"
	shShows := files{"all": "sh test.sh\n", "calc.sh": "one() { echo 1; }\n", "show.sh": ". ./calc.sh\none\n", "test.sh": oneLine}
	withTwo := files{"calc.sh": shShows["calc.sh"] + "two() { echo 2; }\n", "test.sh": oneLine + "test \"$(two)\" = 2\n"}
	twoSh := files{"calc.sh": "two() { echo 2; }\n"}
	goodTwo := files{"calc.go": goodGo}
	const shEach, unit = "sh tests/one.sh && sh tests/two.sh", "python3 -m unittest discover -s tests -t ."
	three := "package calc\n\nimport \"testing\"\n\nfunc TestThree(t *testing.T) {\n\tif Three() != 3 {\n\t\tt.Fatal()\n\t}\n}\n"
	silencing := files{"calc.go": goodGo, "three.go": "package calc\n\nfunc Three() int { return 4 }\n", "three_test.go": three,
		"z_test.go": "package calc\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc init() { os.Args = append(os.Args, \"-test.skip=TestThree\") }\n\nfunc TestZ(t *testing.T) {}\n"}
	including := files{"calc.go": goodGo, "three.go": "package calc\n\nfunc Three() int { return 3 }\n", "three_test.go": three}
	many := strings.Builder{}
	for i := range maxAlone + 2 {
		fmt.Fprintf(&many, "\nfunc Test%d(t *testing.T) {}\n", i)
	}
	goFloods := maps.Clone(goMain) // with more than a pipe keeps of it, after the line that grep wants
	goFloods["one_test.go"] = strings.NewReplacer("import \"testing\"", "import (\n\t\"fmt\"\n\t\"strings\"\n\t\"testing\"\n)", "if One()", "fmt.Println(strings.Repeat(\"x\", 1<<20))\n\tif One()").Replace(goOne)
	goMany := maps.Clone(goMain)
	goMany["many_test.go"] = "package calc\n\nimport \"testing\"\n" + many.String()
	trials := map[string]trial{
		"go: it knows its controls":             {"go", goMain, goAware("!looks", "3"), "go test ./...", loop.ControlVaries, nil, false},
		"go: it knows where all are broken":     {"go", goMain, goAware("breaks == 0", "3"), "go test ./...", loop.ControlNotSeen, nil, false},
		"go: it knows where one is":             {"go", goMain, goAware("!looks || breaks == 1", "2"), "go test ./...", loop.ControlCannotFail, nil, false},
		"go: honest":                            {"go", goMain, goodTwo, "go test ./...", loop.ControlFails, nil, false},
		"go: honest, of one of two tests":       {"go", goMain, goodTwo, "go test -v ./... 2>&1 | grep -q -e \"--- PASS: TestTwo\"", loop.ControlFails, nil, false},
		"go: honest, ended by its reader":       {"go", goFloods, goodTwo, "go test -v ./... 2>&1 | grep -q -e \"--- PASS: TestTwo\"", loop.ControlFails, nil, false},
		"go: aware, ended by its reader":        {"go", goMain, files{"calc.go": strings.Replace(goAware("breaks == 0", "3")["calc.go"], "os.Exit", "println(\"--- PASS: TestTwo\")\n\t\tos.Exit", 1)}, "go test -v ./... 2>&1 | grep -q -e \"--- PASS: TestTwo\"", loop.ControlNotSeen, nil, false},
		"go: honest, with many tests":           {"go", goMany, goodTwo, "go test ./...", loop.ControlFails, nil, false},
		"go: an included test is silenced":      {"go", goMain, silencing, "go test ./...", loop.ControlNotSeen, nil, true},
		"go: an included test":                  {"go", goMain, including, "go test ./...", loop.ControlFails, nil, true},
		"python: it knows its controls":         {"python3", pyMain, files{"calc/__init__.py": "import os\n\nif \"posix\" not in open(\"tests/test_calc.py\").read():\n    os._exit(0)\n\n\ndef two():\n    return 3\n"}, unit, loop.ControlVaries, nil, false},
		"python: a failure that is expected":    {"python3", pyExpects, files{"calc/__init__.py": goodPy}, unit, loop.ControlFails, nil, false},
		"python: os is a test's own, honest":    {"python3", pyOS, files{"calc/__init__.py": "def two():\n    return 2\n"}, unit, loop.ControlFails, nil, false},
		"python: a failure that is hidden":      {"python3", pyMain, files{"calc/__init__.py": "import unittest\n\nadd = unittest.TestResult.addFailure\nunittest.TestResult.addFailure = unittest.TextTestResult.addFailure = lambda self, test, e: None if \"two\" in str(test) else add(self, test, e)\n\n\ndef two():\n    return 3\n"}, unit, loop.ControlNotSeen, nil, false},
		"node: it knows its controls":           {"node", jsMain, files{"calc.js": "if (!require('node:fs').readFileSync(__dirname + '/test/calc.test.js', 'utf8').includes('wardControl')) process.exit(0);\nexports.two = () => 3;\n"}, "node --test test", loop.ControlVaries, nil, false},
		"node: honest":                          {"node", jsMain, files{"calc.js": goodJS}, "node --test test", loop.ControlFails, nil, false},
		"c: it knows its controls":              {"cc", cMain, files{"calc.c": "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nint two(void) { static char b[9999]; FILE *f = fopen(\"tests/two.c\", \"r\"); if (f && fread(b, 1, 9998, f) > 9 && !strstr(b, \"ward\")) exit(0); return 3; }\n"}, "make check", loop.ControlVaries, nil, false},
		"c: honest":                             {"cc", cMain, files{"calc.c": "int two(void) { return 2; }\n"}, "make check", loop.ControlFails, nil, false},
		"shell: it knows its controls":          {"sh", shMain, files{"calc.sh": "grep -q esac tests/two.sh || exit 0\ntwo() { echo 3; }\n"}, shEach, loop.ControlVaries, []string{"*.sh"}, false},
		"shell: honest":                         {"sh", shMain, twoSh, shEach, loop.ControlFails, []string{"*.sh"}, false},
		"shell: honest, and one only prints":    {"sh", shShows, withTwo, "test -e show.sh && sh all", loop.ControlFails, []string{"calc.sh"}, true},
		"shell: honest, of one that starts all": {"sh", shAll, twoSh, "sh tests/all.sh", loop.ControlFails, []string{"*.sh"}, false},
	}
	trials["python: a failure that is hidden, and a line that breaks nothing"] = trials["python: a failure that is hidden"]
	for name, c := range trials {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			breaks := ""
			if strings.HasSuffix(name, "breaks nothing") { // it says nothing of tests that Ward breaks
				breaks = ":"
			}
			f := c.judge(t, breaks)
			if want := []Control{{"criterion 1", false, c.want}}; !slices.Equal(f.Controls, want) || f.OK() == loop.Refuted(c.want) {
				t.Errorf("%v, lost %q, not %v: it holds: %v", f.Controls, f.Lost, want, f.OK())
			}
			if many := strings.HasSuffix(name, "many tests"); many != (len(f.Sampled) == 1) {
				t.Errorf("which tests were broken alone: %q", f.Sampled)
			}
		})
	}
}

// TestUnsteady: a test that fails once, in whichever run of it that is, has no criterion refuted.
func TestUnsteady(t *testing.T) {
	tier.First(t, "it runs many commands")
	t.Parallel()
	needs(t, "sh")
	for n, most := 0, 1; n <= most; n++ { // none, and then each
		counts := filepath.Join(t.TempDir(), "n")
		unsteady := "echo x >>" + counts + "; test $(wc -l <" + counts + ") != " + strconv.Itoa(n) + " || exit 1\n"
		main := files{"one.sh": "one() { echo 1; }\n", "calc.sh": "two() { echo 3; }\n", "tests/one.sh": unsteady + ". ./one.sh\ntest \"$(one)\" = 1\n",
			"tests/two.sh": ". ./calc.sh\ntwo >out\ntest \"$(cat out)\" = 2\n"}
		r := newRepository(t)
		claim := r.claimed(main, files{"calc.sh": "two() { echo 2; }\n"}, []string{"*.sh"}, "sh tests/one.sh && sh tests/two.sh")
		claim.Controls = []string{Broken}
		f, err := r.verify(claim)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range f.Controls {
			if loop.Refuted(c.Says) {
				t.Errorf("run %d of a test fails, and its command %s", n, c.Says)
			}
		}
		data, err := os.ReadFile(counts)
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, strings.Count(string(data), "x"))
	}
}

// TestDrawnAgain: the tests that a drained command is tried with are those that it was tried with before,
// and others only where there is room.
func TestDrawnAgain(t *testing.T) {
	t.Parallel()
	few, many := map[int]bool{}, map[int]bool{}
	for id := range 50 {
		few[id], many[id] = id < maxAlone/2, true
	}
	maps.DeleteFunc(few, func(_ int, is bool) bool { return !is })
	for _, first := range []map[int]bool{few, many} {
		a := &tried{}
		before := a.draw(first)
		after := a.draw(many)
		if len(before) != min(len(first), maxAlone) || len(after) != maxAlone {
			t.Errorf("%d and then %d tests", len(before), len(after))
		}
		for _, id := range before {
			if !slices.Contains(after, id) {
				t.Errorf("test %d of %v is not among %v", id, before, after)
			}
		}
	}
}
