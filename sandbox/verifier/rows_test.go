package verifier

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/tier"
)

// TestRows: a row of a table that passes without the work, and is not there or is skipped with it,
// is lost, whatever its test says (PROOF-4).
func TestRows(t *testing.T) {
	tier.Full(t, "it runs hundreds of commands")
	goMain := files{"go.mod": goMod, "calc.go": "package calc\n\nfunc Double(n int) int { return n + n%3 }\n",
		"calc_test.go": "package calc\n\nimport (\n\t\"fmt\"\n\t\"testing\"\n)\n\nvar cases = []struct{ in, want int }{{1, 2}, {2, 4}, {3, 6}}\n\nfunc TestDouble(t *testing.T) {\n\tfor _, c := range cases {\n\t\tc := c\n\t\tt.Run(fmt.Sprint(\"of \", c.in), func(t *testing.T) {\n\t\t\tt.Parallel()\n\t\t\tif Double(c.in) != c.want {\n\t\t\t\tt.Error(c.in)\n\t\t\t}\n\t\t})\n\t}\n}\n"}
	goNew := maps.Clone(goMain)
	goNew["calc.go"] = "package calc\n"
	goTitled := maps.Clone(goNew)
	goTitled["calc_test.go"] = "package calc\n\nimport \"testing\"\n\nvar cases = []struct {\n\tname     string\n\tin, want int\n}{{\"is one\", 1, 2}, {\"two\", 2, 4}}\n\nfunc TestDouble(t *testing.T) {\n\tfor _, c := range cases {\n\t\tt.Run(c.name, func(t *testing.T) {\n\t\t\tif Double(c.in) != c.want {\n\t\t\t\tt.Error(c.in)\n\t\t\t}\n\t\t})\n\t}\n}\n"
	goNamed := maps.Clone(goNew)
	goNamed["calc_test.go"] = strings.Replace(goMain["calc_test.go"], "c.in), func", "Double(c.in)), func", 1)
	// What calls a test with each set of parameters and says so as pytest does, which machines lack.
	const pytest = "python3 -c \"import os, sys; sys.path[:0] = ['.', 'tests']; import test_calc as t\nfor p in t.cases():\n os.environ['PYTEST_CURRENT_TEST'] = 'tests/test_calc.py::test_double[%d] (call)' % p\n t.test_double(p)\""
	pyMain := files{"pyproject.toml": "[project]\nname = \"calc\"\n", "calc/__init__.py": "CASES = [1, 2]\n\n\ndef double(n):\n    return 2 * n\n",
		"tests/test_calc.py": "import calc\n\n\ndef cases():\n    return calc.CASES  # parametrize\n\n\ndef test_double(n):\n    assert calc.double(n) == 2 * n\n"}
	pyPoor := maps.Clone(pyMain)
	pyPoor["calc/__init__.py"] = "CASES = [1, 2]\n\n\ndef double(n):\n    return n + 1\n"
	loopMain := func(calc, loop string) files {
		return files{"go.mod": goMod, "calc.go": "package calc\n\nvar Cases = []int{1, 2, 4}\n\nfunc Double(n int) int { return 2*n + n/4 }\n\nfunc Wrong() []int { return " + calc + " }\n",
			"calc_test.go": "package calc\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {\n\tif Double(1) != 2 {\n\t\tt.Fatal()\n\t}\n}\n\nfunc TestDouble(t *testing.T) {\n" + loop + "}\n"}
	}
	const goTable = "\tfor _, t := range Cases {\n\t\tcheck(t)\n\t}\n}\n\nfunc check(n int) {\n\tif Double(n) != 2*n {\n\t\tpanic(n)\n\t}\n"
	goLoops := func(cases, body, wrong string) files {
		return files{"calc.go": "package calc\n\nvar Cases = []int{" + cases + "}\n\nfunc Double(n int) int { return " + body + " }\n\nfunc Wrong() []int { return " + wrong + " }\n"}
	}
	unitMain := func(body string) files {
		return files{"pyproject.toml": "[project]\nname = \"calc\"\n", "calc/__init__.py": "CASES = [(1, 2), (4, 8)]\n\n\ndef double(n):\n    return 2 * n + n // 4\n",
			"tests/__init__.py": "", "tests/test_calc.py": "import unittest\n\nimport calc\n\n\nclass T(unittest.TestCase):\n    def test_one(self):\n        self.assertEqual(calc.double(1), 2)\n\n    def test_double(self):\n" + body}
	}
	pyLoops := func(cases string) files {
		return files{"calc/__init__.py": "CASES = [" + cases + "]\n\n\ndef double(n):\n    return 2 * n + (n // 4) * " + map[bool]string{true: "1", false: "0"}[cases == ""] + "\n"}
	}
	jsMain := func(body string) files {
		return files{"package.json": "{\"name\":\"calc\"}", "calc.js": "exports.cases = [[1, 2], [4, 8]];\nexports.double = (n) => 2 * n + (n >> 2);\n",
			"test/calc.test.js": "const test = require('node:test');\nconst assert = require('node:assert');\nconst calc = require('../calc.js');\n\ntest('one', () => {\n\tassert.equal(calc.double(1), 2);\n});\n\ntest('double', () => {\n" + body + "});\n"}
	}
	jsEmpty := files{"calc.js": "exports.cases = [];\nexports.double = (n) => 2 * n;\n"}
	const (
		unit    = "python3 -m unittest discover -s tests -t ."
		pyTable = "        for n, want in calc.CASES:\n            with self.subTest(n=n):\n                self.assertEqual(calc.double(n), want)\n"
		double  = "package calc\n\nfunc Double(n int) int { return 2 * n }\n"
	)
	for name, c := range map[string]struct {
		needs        string
		main, agents files
		line         string
		lost         []string
	}{
		"go: honest":                     {"go", goMain, files{"calc.go": double}, "go test ./...", nil},
		"go: honest, as it says":         {"go", goMain, files{"calc.go": double}, "go test -v -count=2 ./... 2>&1 | grep -q ^ok", nil},
		"go: a row goes":                 {"go", goMain, files{"calc.go": "package calc\n\nfunc init() { cases = cases[1:] }\n\nfunc Double(n int) int { return 2 * n }\n"}, "go test ./...", []string{"calc_test.go: TestDouble/of_1"}},
		"go: a row that failed goes":     {"go", goMain, files{"calc.go": "package calc\n\nimport \"os\"\n\nfunc init() { os.Args = append(os.Args, \"-test.skip=TestDouble/of_3\") }\n\nfunc Double(n int) int { return n + n%3 }\n"}, "go test ./...", []string{"calc_test.go: TestDouble/of_3"}},
		"python: a row that failed goes": {"python3", pyPoor, files{"calc/__init__.py": "CASES = [1]\n\n\ndef double(n):\n    return n + 1\n"}, pytest, []string{"tests/test_calc.py: test_double[2]"}},
		"go: a row of what was not":      {"go", goNew, files{"calc.go": "package calc\n\nimport \"os\"\n\nfunc init() { os.Args = append(os.Args, \"-test.skip=TestDouble/of_3\") }\n\nfunc Double(n int) int { return n + n%3 }\n"}, "go test ./...", []string{"calc_test.go: TestDouble/of_3"}},
		"go: other rows of what was not": {"go", goTitled, files{"calc.go": "package calc\n\nfunc init() {\n\tfor i := range cases {\n\t\tcases[i].name, cases[i].want = \"other\", 7\n\t}\n}\n\nfunc Double(n int) int { return 7 }\n"}, "go test ./...", []string{"calc_test.go: TestDouble/is_one", "calc_test.go: TestDouble/two"}},
		"go: titles, honest":             {"go", goTitled, files{"calc.go": double}, "go test ./...", nil},
		"go: what was not, honest":       {"go", goNew, files{"calc.go": double}, "go test ./...", nil},
		"go: names by the work, honest":  {"go", goNamed, files{"calc.go": double}, "go test ./...", nil},
		"go: a table is emptied":         {"go", loopMain("nil", goTable), goLoops("", "2 * n", "nil"), "go test ./...", []string{"calc_test.go: TestDouble: the loop in line 12"}},
		"go: the same, honest":           {"go", loopMain("nil", goTable), goLoops("1, 4", "2 * n", "nil"), "go test ./...", nil},
		"go: what should be empty":       {"go", loopMain("[]int{1}", "\tfor _, n := range Wrong() {\n\t\tt.Error(n)\n\t}\n\tfor i := 0; len(Cases) == 3 && i < 1; {\n\t\ti++\n\t}\n\tif Double(4) != 8 {\n\t\tt.Error()\n\t}\n"), goLoops("1, 4", "2 * n", "nil"), "go test ./...", nil},
		"go: ended early":                {"go", loopMain("nil", "\tfound := false\n\tfor _, n := range Cases {\n\t\tif n == 4 {\n\t\t\tfound = true\n\t\t\tbreak\n\t\t}\n\t}\n\tfor i := 0; i < 50; i++ {\n\t\tif Double(4) == 8 {\n\t\t\tbreak\n\t\t}\n\t}\n\tif !found || Double(4) != 8 {\n\t\tt.Error()\n\t}\n"), goLoops("4, 1", "2 * n", "nil"), "go test ./...", nil},
		"python: a line that is shown":   {"python3", unitMain("        self.assertTrue(all(calc.double(n) == want for n, want in calc.CASES))\n"), pyLoops("(1, 2), (4, 8)"), unit, nil},
		"python: ended early":            {"python3", unitMain("        self.assertTrue(any(n == 4 for n, _ in calc.CASES))\n        self.assertEqual(calc.double(4), 8)\n"), pyLoops("(4, 8), (1, 2)"), unit, nil},
		"node: ended early":              {"node", jsMain("\tfor (const [n] of calc.cases) {\n\t\tif (n === 4) break;\n\t}\n\tassert.equal(calc.double(4), 8);\n"), files{"calc.js": "exports.cases = [[4, 8], [1, 2]];\nexports.double = (n) => 2 * n;\n"}, "node --test test", nil},
		"python: in a generator":         {"python3", unitMain("        self.assertTrue(all(calc.double(n) >= 2 * n for n, _ in calc.CASES))\n        self.assertEqual(calc.double(4), 8 + len(calc.CASES) * 0)\n"), files{"calc/__init__.py": "CASES = []\n\n\ndef double(n):\n    return 2 * n\n"}, unit, []string{"tests/test_calc.py: test_double: the loop in line 11"}},
		"python: a table is emptied":     {"python3", unitMain(pyTable), pyLoops(""), unit, []string{"tests/test_calc.py: test_double: the loop in line 11"}},
		"python: the same, honest":       {"python3", unitMain(pyTable), pyLoops("(1, 2), (4, 8)"), unit, nil},
		"python: in a comprehension":     {"python3", unitMain("        self.assertTrue(all([calc.double(n) >= 2 * n for n, _ in calc.CASES]))\n        self.assertEqual(calc.double(4), 8 + len(calc.CASES) * 0)\n"), files{"calc/__init__.py": "CASES = []\n\n\ndef double(n):\n    return 2 * n\n"}, unit, []string{"tests/test_calc.py: test_double: the loop in line 11"}},
		"node: a table is emptied":       {"node", jsMain("\tfor (const [n, want] of calc.cases) {\n\t\tassert.equal(calc.double(n), want);\n\t}\n"), jsEmpty, "node --test test", []string{"test/calc.test.js: double: the loop in line 10"}},
		"node: the same, by a call":      {"node", jsMain("\tcalc.cases.forEach(([n, want]) => {\n\t\tassert.equal(calc.double(n), want);\n\t});\n"), jsEmpty, "node --test test", []string{"test/calc.test.js: double: the loop in line 10"}},
		"node: honest":                   {"node", jsMain("\tfor (const [n, want] of calc.cases.filter((c) => c)) {\n\t\tassert.equal(calc.double(n), want);\n\t}\n\tcalc.cases.forEach(([n]) => assert.ok(calc.double(n)));\n"), files{"calc.js": "exports.cases = [[1, 2], [4, 8]];\nexports.double = (n) => 2 * n;\n"}, "node --test test", nil},
		"python: honest":                 {"python3", pyMain, files{"calc/__init__.py": "CASES = [1, 2]\n\n\ndef double(n):\n    return n + n\n"}, pytest, nil},
		"python: a row goes":             {"python3", pyMain, files{"calc/__init__.py": "CASES = [2]\n\n\ndef double(n):\n    return n + n\n"}, pytest, []string{"tests/test_calc.py: test_double[1]"}},
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
