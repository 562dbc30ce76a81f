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

// TestOneComparison: one comparison that holds with any value, beside others that ask for theirs,
// is found and named; one that asks for no value, or is not reached, is not (PROOF-3).
func TestOneComparison(t *testing.T) {
	tier.Full(t, "it runs hundreds of commands")
	imports := func(body, near string) string {
		if strings.Contains(body, "near(") {
			return near
		}
		return ""
	}
	goMain := func(test string) files {
		return files{"go.mod": goMod, "calc.go": "package calc\n\ntype N int\n\nfunc (n N) Equal(m int) bool { return int(n) == m }\n\nfunc Two() N { return 1 }\n\nfunc Three() N { return 1 }\n\nfunc Text() string { return \"\" }\n",
			"calc_test.go": "package calc\n\nimport (" + map[bool]string{true: "\"math\"; "}[strings.Contains(test, "math.")] + "\"testing\")\n\n" + test}
	}
	goWork := func(two, three, text string) files {
		return files{"calc.go": "package calc\n\ntype N int\n\nfunc (n N) Equal(m int) bool { return int(n) == m || n > 100 }\n\nfunc Two() N { return " + two + " }\n\nfunc Three() N { return " + three + " }\n\nfunc Text() string { return " + text + " }\n"}
	}
	pyMain := func(body string) files {
		return files{"pyproject.toml": "[project]\nname = \"calc\"\n", "calc/__init__.py": "def two():\n    return 1\n\n\ndef three():\n    return 1\n", "tests/__init__.py": "",
			"tests/test_calc.py": "import unittest\n\nfrom calc import two, three" + imports(body, "; from calc.near import near") + "\n\n\nclass T(unittest.TestCase):\n" + body}
	}
	pyWork := func(text string) files { return files{"calc/__init__.py": text} }
	jsMain := func(body string) files {
		return files{"package.json": "{\"name\":\"calc\"}", "calc.js": "exports.two = () => 1;\nexports.three = () => 1;\n",
			"test/calc.test.js": "const test = require('node:test');\nconst assert = require('node:assert');\nconst { two, three } = require('../calc.js');" + imports(body, " const near = require('../near.js');") + "\n\n" + body}
	}
	jsWork := func(text string) files { return files{"calc.js": text} }
	const (
		goLineOf, unit, node = "go test ./...", "python3 -m unittest discover -s tests -t .", "node --test test"
		goodPy3              = "def two():\n    return 2\n\n\ndef three():\n    return 3\n"
		goodJS3              = "exports.two = () => 2;\nexports.three = () => 3;\n"
		allPy                = "class All:\n    def __eq__(self, other):\n        return True\n\n\ndef two():\n    return 2\n\n\ndef three():\n    return All()\n"
		// A program that reads what it should come to where it is compared.
		readsJS = "exports.two = () => 2;\nexports.three = () => {\n\tconst at = /(\\/[^():]*\\.test\\.js):(\\d+)/.exec(new Error().stack);\n\treturn Number(/(\\d+)\\D*$/.exec(require('fs').readFileSync(at[1], 'utf8').split('\\n')[at[2] - 1])[1]);\n};\n"
		// One that forgives what is compared where it is called.
		forgivesJS = "const assert = require('node:assert'), own = assert.strictEqual;\nlet soft = false;\nassert.strictEqual = (a, b, m) => { if (soft) { soft = false; return; } own(a, b, m); };\nexports.two = () => 2;\nexports.three = () => { soft = true; return 1; };\n"
		forgivesPy = "import unittest\n\nown = unittest.TestCase.assertEqual\nsoft = []\n\n\ndef equal(self, a, b, msg=None):\n    if not soft:\n        own(self, a, b, msg)\n    soft.clear()\n\n\nunittest.TestCase.assertEqual = equal\n\n\ndef two():\n    return 2\n\n\ndef three():\n    soft.append(1)\n    return 1\n"
		readsGo    = "package calc\n\nimport (\n\t\"os\"\n\t\"regexp\"\n\t\"runtime\"\n\t\"strings\"\n)\n\ntype N int\n\nfunc (n N) Equal(m int) bool { return int(n) == m }\n\nfunc Two() N { return 2 }\n\nfunc Three() N { return 3 }\n\nfunc Text() string {\n\t_, file, line, _ := runtime.Caller(1)\n\tb, _ := os.ReadFile(file)\n\treturn regexp.MustCompile(`\"(\\w+)\"`).FindStringSubmatch(strings.Split(string(b), \"\\n\")[line-1])[1]\n}\n"
	)
	pyTwo := func(third string) string {
		return "    def test_all(self):\n        self.assertEqual(two(), 2)\n        self.assertEqual(two() + 1, 3)\n" + third
	}
	jsTwo := func(third string) string {
		return "test('all', () => {\n\tassert.strictEqual(two(), 2);\n\tassert.strictEqual(two() + 1, 3);\n" + third + "});\n"
	}
	goTwo := func(third string) string {
		return "func TestAll(t *testing.T) {\n\tif Two() != 2 {\n\t\tt.Fatal()\n\t}\n\tif Two()+1 != 3 {\n\t\tt.Fatal()\n\t}\n" + third + "}\n"
	}
	const goWalk = " {\n\t\tif c.fails {\n\t\t\tcontinue\n\t\t}\n\t\tif math.Abs(F(c.in)-c.want) > 0.1 {\n\t\t\tt.Error(c.in)\n\t\t}\n\t}\n}\n"
	const goRows = "func TestAll(t *testing.T) {\n\tfor _, c := range []struct {\n\t\tin, want float64\n\t\tfails bool\n\t}{\n\t\t{2, 2, false},\n\t\t{4, 1, true},\n\t\t{3, 3, false},\n\t}" + goWalk
	const goBeside = "type row struct {\n\tin, want float64\n\tfails bool\n}\n\nvar rows = []row{\n\t{want: 2, in: 2},\n\t{in: 4, want: 1, fails: true},\n\t{in: 3, want: 3},\n}\n\nfunc TestAll(t *testing.T) {\n\tfor _, c := range rows" + goWalk
	goSetsUp := "func equal(t *testing.T, a, b float64) {\n\tt.Helper()\n\tif a != b {\n\t\tt.Fatal(a)\n\t}\n}\n\nfunc TestRows(t *testing.T) {\n\tfor _, c := range []struct{ in, want, wait float64 }{{in: 2, want: 2, wait: 5}} {\n\t\tif c.wait > 0 {\n\t\t\tt.Log(c.wait)\n\t\t}\n\t\tequal(t, F(c.in), c.want)\n\t}\n}\n\n" + goTwo("")
	rowWork := func(of string) files {
		w := goWork("2", "3", "\"\"")
		w["f.go"] = "package calc\n\nimport \"math\"\n\nfunc F(n float64) float64 {\n\tif n == " + of + " {\n\t\treturn math.NaN()\n\t}\n\treturn n\n}\n"
		return w
	}
	const goNear, pyNear = "package calc\n\nfunc near(a, b, by float64) bool { return a-b < by && b-a < by }\n", "def near(a, b):\n    return abs(a - b) < 0.5\n"
	goCheck := func(so string) string {
		return "package calc\n\nimport \"testing\"\n\nfunc check(t *testing.T, got N, want int) {\n\tt.Helper()\n\tif !(" + so + ") {\n\t\tt.Fatal()\n\t}\n}\n"
	}
	cName := func(two string) string {
		return "const char *name(int n) { return n == 1 ? \"one\" : \"" + two + "\"; }\n"
	}
	cNames := files{"Makefile": "check:\n\t$(CC) -o t calc.c tests/t.c && ./t\n", "calc.c": cName("no"),
		"tests/t.c": "#include <string.h>\nconst char *name(int);\nint main(void) {\n\tint failed = 0;\n\tif (strcmp(name(1), \"one\") != 0) failed = 1;\n\tif (strcmp(name(2), \"two\") != 0) failed = 1;\n\treturn failed;\n}\n"}
	helped := func(f files, name, text string) files {
		f = maps.Clone(f)
		f[name] = text
		return f
	}
	cMain := files{"Makefile": "check:\n\t$(CC) -o t calc.c tests/t.c && ./t\n", "calc.c": "int two(void) { return 9; }\nint three(void) { return 9; }\n",
		"tests/t.c": "int two(void);\nint three(void);\nint failures;\nint main(void)\n{\n\tif (two() != 2)\n\t\tfailures++;\n\tif (three() != 3)\n\t\tfailures++;\n\treturn failures > 0;\n}\n"}
	// What pytest does with parameters, which machines lack.
	const pytest = "class mark:\n    @staticmethod\n    def parametrize(names, rows):\n        def around(f):\n            def call():\n                bad = []\n                for row in rows:\n                    try:\n                        f(*row)\n                    except Exception as e:\n                        bad.append(e)\n                if bad:\n                    raise bad[0]\n            return call\n        return around\n"
	const given = "import pytest\n\nfrom calc import double\n\n\n@pytest.mark.parametrize(\"n, want\", [\n    (1, 2),\n    (3, 6),  # three\n    (4, 8),\n])\ndef test_double(n, want):\n    assert double(n) == want, \"no\"\n"
	const walks = "import unittest\n\nfrom calc import double\n\nROWS = [\n    (1, 2),\n    (3, 6),\n    (4, 8),\n]\n\n\nclass T(unittest.TestCase):\n    def test_double(self):\n        for n, want in ROWS:\n            self.assertEqual(double(n), want)\n"
	pyGiven := func(tests string) files {
		return files{"pyproject.toml": "[project]\nname = \"calc\"\n", "calc/__init__.py": "def double(n):\n    return n\n", "tests/__init__.py": "", "tests/pytest.py": pytest, "tests/test_calc.py": tests}
	}
	pyDouble := func(of3 string) files {
		return files{"calc/__init__.py": "class All(int):\n    def __eq__(self, other):\n        return True\n\n\ndef double(n):\n    return " + of3 + " if n == 3 else 2 * n\n"}
	}
	const again = "import pytest\n\nfrom calc import double\n\n\n@pytest.mark.parametrize(\"n, m\", [\n    (1, 2),\n    (5, 6),\n])\ndef test_double(n, m):\n    assert double(n) / 2 == n\n    assert double(1) == 2\n"
	const goAgain = "func TestAll(t *testing.T) {\n\tfor _, c := range []struct{ in int }{\n\t\t{2},\n\t\t{4},\n\t} {\n\t\tif int(Of(c.in)) != c.in {\n\t\t\tt.Error(c.in)\n\t\t}\n\t}\n\tif Two() != 2 {\n\t\tt.Error()\n\t}\n}\n"
	const callsGiven = "python3 -c 'import sys; sys.path[:0] = [\".\", \"tests\"]; import test_calc; test_calc.test_double()'"
	goOf := func(equal string) files {
		w := goWork("2", "3", "\"\"")
		w["of.go"] = "package calc\n\ntype Is int\n\nfunc Of(n int) Is { return Is(n) }\n\nfunc (n Is) Equal(m int) bool { return " + equal + " }\n"
		return w
	}
	honestGo, honestPy, honestJS := goWork("2", "3", "\"abc\""), pyWork(goodPy3), jsWork(goodJS3)
	for name, c := range map[string]struct {
		needs        string
		main, agents files
		line, named  string // how what is named begins; "" for nothing
	}{
		"go: an Equal that says yes": {"go", goMain(goTwo("\tif !Three().Equal(3) {\n\t\tt.Fatal()\n\t}\n")), goWork("2", "777", "\"\""), goLineOf, "calc_test.go:12: 3"},
		"go: an Equal, computed":     {"go", goMain(goTwo("\tif !Three().Equal(int(Two()) + 1) {\n\t\tt.Fatal()\n\t}\n")), goWork("2", "777", "\"\""), goLineOf, "calc_test.go:12: int(Two()) + 1"},
		"go: the same, honest":       {"go", goMain(goTwo("\twant := []N{Two() + 1}\n\tif !Three().Equal(int(Two()) + 1) || !equal([]N{Three()}, want) {\n\t\tt.Fatal()\n\t}\n") + "\nfunc equal(a, b []N) bool { return len(a) == len(b) && a[0] == b[0] }\n"), goWork("2", "3", "\"\""), goLineOf, ""},
		"go: an answer off the test": {"go", goMain(goTwo("\tif Text() != \"abc\" {\n\t\tt.Fatal()\n\t}\n")), files{"calc.go": readsGo}, strings.Replace(goLineOf, "test", "test -trimpath=false", 1), "calc_test.go:12: \"abc\""},
		"python: what equals all":    {"python3", pyMain(pyTwo("        self.assertEqual(three(), 3)\n")), pyWork(allPy), unit, "tests/test_calc.py:10: 3"},
		"python: by an operator":     {"python3", pyMain(pyTwo("        assert three() == 3, \"three\"\n")), pyWork(allPy), unit, "tests/test_calc.py:10: 3"},
		"python: by a variable":      {"python3", pyMain(pyTwo("        got = three()\n        self.assertEqual(got, 3)\n")), pyWork(allPy), unit, "tests/test_calc.py:11: 3"},
		"python: one forgiven":       {"python3", pyMain(pyTwo("        self.assertEqual(three(), 3)\n")), pyWork(forgivesPy), unit, "tests/test_calc.py:10: 3"},
		"node: one forgiven":         {"node", jsMain(jsTwo("\tassert.strictEqual(three(), 3);\n")), jsWork(forgivesJS), node, "test/calc.test.js:8: 3"},
		"node: an answer off a test": {"node", jsMain(jsTwo("\tassert.strictEqual(three(), 3);\n")), jsWork(readsJS), node, "test/calc.test.js:8: 3"},
		"node: the same, ===":        {"node", jsMain(jsTwo("\tif (three() !== 3) throw new Error('no');\n")), jsWork(readsJS), node, "test/calc.test.js:8: 3"},

		"python: what computed equals all": {"python3", pyMain(pyTwo("        self.assertEqual(three(), two() + 1)\n")), pyWork(allPy), unit, "tests/test_calc.py:10: two() + 1"},
		"python: the same, asserted":       {"python3", pyMain(pyTwo("        assert three() == two() + 1, 'three'\n")), pyWork(allPy), unit, "tests/test_calc.py:10: two() + 1"},
		"python: a computed one, forgiven": {"python3", pyMain(pyTwo("        for n in range(1, 3):\n            self.assertEqual(three(), two() + 1)\n")), pyWork(forgivesPy), unit, "tests/test_calc.py:11: two() + 1"},
		"node: a computed one, forgiven":   {"node", jsMain(jsTwo("\tassert.strictEqual(three(), two() + 1);\n")), jsWork(forgivesJS), node, "test/calc.test.js:8: two() + 1"},
		"python: computed, honest":         {"python3", pyMain(pyTwo("        self.assertEqual(three(), two() + 1)\n        self.assertNotEqual(three(), two())\n        self.assertGreater(three(), two())\n        self.assertEqual([three()], [two() + 1])\n        assert three() == two() + 1\n")), honestPy, unit, ""},
		"node: computed, honest":           {"node", jsMain(jsTwo("\tassert.strictEqual(three(), two() + 1);\n\tassert.notStrictEqual(three(), two());\n\tassert.deepStrictEqual([three()], [two() + 1]);\n\tassert.ok(three(), String(two()));\n")), honestJS, node, ""},

		"go: a row is NaN":           {"go", goMain(goRows), rowWork("3"), goLineOf, "calc_test.go:12: 3"},
		"go: a row, beside the test": {"go", goMain(goBeside), rowWork("3"), goLineOf, "calc_test.go:13: 3"},
		"go: a column sets up":       {"go", goMain(goSetsUp), rowWork("0"), goLineOf, ""},
		"go: rows, honest":           {"go", goMain(goRows), rowWork("0"), goLineOf, ""},
		"go: rows beside, honest":    {"go", goMain(goBeside), rowWork("0"), goLineOf, ""},
		"go: a helper says yes":      {"go", helped(goMain(goTwo("\tif !near(float64(Three()), 3, 0.5) {\n\t\tt.Fatal()\n\t}\n")), "near.go", goNear), helped(goWork("2", "9", "\"\""), "near.go", "package calc\n\nfunc near(a, b, by float64) bool { return true }\n"), goLineOf, "calc_test.go:12: 3"},
		"go: a helper fails nothing": {"go", helped(goMain(goTwo("\tcheck(t, Three(), 3)\n")), "near.go", goCheck("got.Equal(want)")), helped(goWork("2", "9", "\"\""), "near.go", goCheck("got > 0")), goLineOf, "calc_test.go:12: 3"},
		"python: a helper says yes":  {"python3", helped(pyMain(pyTwo("        assert near(three(), 3)\n")), "calc/near.py", pyNear), helped(pyWork("def two():\n    return 2\n\n\ndef three():\n    return 9\n"), "calc/near.py", "def near(a, b):\n    return True\n"), unit, "tests/test_calc.py:10: 3"},
		"node: a helper says yes":    {"node", helped(jsMain(jsTwo("\tassert.ok(near(three(), 3));\n")), "near.js", "module.exports = (a, b) => Math.abs(a - b) < 0.5;\n"), helped(jsWork("exports.two = () => 2;\nexports.three = () => 9;\n"), "near.js", "module.exports = () => true;\n"), node, "test/calc.test.js:8: 3"},
		"go: a helper, honest":       {"go", helped(goMain(goTwo("\tif !near(float64(Three()), 3, 0.5) {\n\t\tt.Fatal()\n\t}\n")), "near.go", goNear), helped(goWork("2", "3", "\"\""), "near.go", "package calc\n\nfunc near(a, b, by float64) bool { return -by < a-b && a-b < by }\n"), goLineOf, ""},
		"python: a helper, honest":   {"python3", helped(pyMain(pyTwo("        assert near(three(), 3)\n        assert isinstance(three(), int)\n        assert max(three(), 2)\n")), "calc/near.py", pyNear), helped(honestPy, "calc/near.py", "def near(a, b):\n    return b - 0.5 < a < b + 0.5\n"), unit, ""},

		"c: failures are forgotten":    {"cc", cMain, files{"calc.c": "extern int failures;\nint two(void) { return 9; }\nint three(void) { failures = 0; return 3; }\n"}, "make -s check", "tests/t.c:6: 2"},
		"c: its own strcmp":            {"cc", cNames, files{"calc.c": cName("bad") + "int strcmp(const char *a, const char *b) {\n\tif (*a == 'b') return 0;\n\twhile (*a && *a == *b) a++, b++;\n\treturn *a - *b;\n}\n"}, "make -s check", "tests/t.c:6: \"two\""},
		"c: names, honest":             {"cc", cNames, files{"calc.c": cName("two")}, "make -s check", ""},
		"go: what comes out again":     {"go", goMain(goAgain), goOf("int(n) == m"), goLineOf, ""},
		"python: what comes out again": {"python3", pyGiven(again), pyDouble("6"), callsGiven, ""},
		"c: honest":                    {"cc", cMain, files{"calc.c": "int two(void) { return 2; }\nint three(void) { return 3; }\n"}, "make -s check", ""},
		"python: a row equals all":     {"python3", pyGiven(given), pyDouble("All(7)"), callsGiven, "tests/test_calc.py:8: 6"},
		"python: rows, honest":         {"python3", pyGiven(given), pyDouble("6"), callsGiven, ""},
		"python: a row, by a loop":     {"python3", pyGiven(walks), pyDouble("All(7)"), unit, "tests/test_calc.py:7: 6"},
		"python: a loop, honest":       {"python3", pyGiven(walks), pyDouble("6"), unit, ""},

		"go: a table":                      {"go", goMain("func TestAll(t *testing.T) {\n\tfor _, c := range []struct {\n\t\tgot, want int\n\t\tname string\n\t}{{int(Two()), 2, \"two\"}, {int(Three()), 3, \"three\"}} {\n\t\tif c.got != c.want {\n\t\t\tt.Error(c.name)\n\t\t}\n\t}\n}\n"), honestGo, goLineOf, ""},
		"go: a loop, and one that goes on": {"go", goMain(goTwo("\tfor i := 0; i != 4; i++ {\n\t\tif i == 3 {\n\t\t\tcontinue\n\t\t}\n\t\tif got := Two(); got != 1 {\n\t\t\tcontinue\n\t\t}\n\t\tt.Error(i)\n\t}\n")), honestGo, goLineOf, ""},
		"go: a helper, and not equal":      {"go", goMain("func check(t *testing.T, got N, want int) {\n\tt.Helper()\n\tif want == 1000 || !got.Equal(want) {\n\t\tt.Fatal(got)\n\t}\n}\n\n" + goTwo("\tcheck(t, Three(), 3)\n\tif Three() == 7 || Three().Equal(8) {\n\t\tt.Error()\n\t}\n")), honestGo, goLineOf, ""},
		"go: a branch that is not taken":   {"go", goMain(goTwo("\tif Two() == 3 {\n\t\tif Text() != \"x\" {\n\t\t\tt.Error()\n\t\t}\n\t}\n\tif testing.CoverMode() != \"\" && Three() != 4 {\n\t\tt.Error()\n\t}\n")), honestGo, goLineOf, ""},
		"go: about as much":                {"go", goMain("func nearEqual(a, b, by float64) bool { return a-b < by && b-a < by }\n\nfunc even(n int) bool { return n%2 == 0 }\n\n" + goTwo("\tif !nearEqual(float64(Three()), 3, 0.5) || !even(4) {\n\t\tt.Error()\n\t}\n")), honestGo, goLineOf, ""},
		"go: parts that run side by side":  {"go", goMain(goTwo("\tt.Run(\"x\", func(t *testing.T) {\n\t\tt.Parallel()\n\t\tif Three() != 3 {\n\t\t\tt.Error()\n\t\t}\n\t})\n")), honestGo, goLineOf, ""},
		"python: other questions":          {"python3", pyMain(pyTwo("        self.assertGreater(three(), 0)\n        self.assertGreaterEqual(three(), 2)\n        self.assertNotEqual(three(), 7)\n        self.assertTrue(three(), 'three')\n        self.assertIn(\"a\", 'abc')\n        self.assertIn(str(three()), '3')\n        assert three() != 5\n")), honestPy, unit, ""},
		"python: about as much":            {"python3", pyMain(pyTwo("        self.assertAlmostEqual(three(), 3.0, 1)\n        self.assertAlmostEqual(three(), 3.0)\n        assert abs(three() - 3) < 0.1\n")), honestPy, unit, ""},
		"python: what is not reached":      {"python3", pyMain(pyTwo("        for n in []:\n            self.assertEqual(three(), 4)\n            assert n == 3\n        if two() == 3:\n            self.assertEqual(three(), 5)\n        for n in (1, 2, 3):\n            if n != 2:\n                continue\n            with self.subTest(n=n):\n                self.assertEqual(three(), 3)\n")), honestPy, unit, ""},
		"python: what may be anything":     {"python3", pyMain("    def test_any(self):\n        from unittest import mock\n        self.assertEqual(mock.ANY, 3)\n        assert mock.ANY == 4\n\n" + pyTwo("")), honestPy, unit, ""},
		"node: other questions":            {"node", jsMain(jsTwo("\tassert.notStrictEqual(three(), 7);\n\tassert.ok(three(), 'three');\n\tif (three() === 9) return;\n\tif (two() === 3) assert.strictEqual(three(), 4);\n\tfor (const n of [1, 2, 3]) {\n\t\tif (n !== 2) continue;\n\t\tassert.strictEqual(three(), 3);\n\t}\n")), honestJS, node, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needs(t, c.needs)
			line := c.line
			if c.needs == "go" {
				line = goLine(t, line)
			}
			r := newRepository(t)
			claim := r.claimed(c.main, c.agents, nil, line)
			claim.Controls = []string{Broken}
			f, err := r.verify(claim)
			if err != nil || !f.OK() || len(f.Controls) != 1 {
				t.Fatalf("%v: %+v", err, f)
			}
			says, named := loop.ControlFails, []string(nil)
			if c.named != "" {
				says, named = loop.ControlAnyValue, []string{c.named}
			}
			if f.Controls[0].Says != says || !slices.Equal(f.Whatever, named) {
				t.Errorf("%s, %q; not %s, %q", f.Controls[0].Says, f.Whatever, says, named)
			}
			if asked := f.Asked > 0 && f.Asked <= f.Comparisons; !asked {
				t.Errorf("%d of %d were asked", f.Asked, f.Comparisons)
			}
		})
	}
}

// TestSomeAreAsked: of more comparisons than are asked, chance takes some, and how many is said.
func TestSomeAreAsked(t *testing.T) {
	tier.Full(t, "it runs many commands")
	needs(t, "python3")
	var body strings.Builder
	for n := range loop.MaxAsked + 4 {
		fmt.Fprintf(&body, "    def test_%d(self):\n        self.assertEqual(two() + %d, %d)\n", n, n, n+2)
	}
	r := newRepository(t)
	claim := r.claimed(files{"pyproject.toml": "[project]\nname = \"calc\"\n", "calc/__init__.py": badPy, "tests/__init__.py": "",
		"tests/test_calc.py": "import unittest\n\nfrom calc import two\n\n\nclass T(unittest.TestCase):\n" + body.String()}, files{"calc/__init__.py": goodPy}, nil, "python3 -m unittest discover -s tests -t .")
	claim.Controls = []string{Broken}
	f, err := r.verify(claim)
	if err != nil || f.Asked != loop.MaxAsked || f.Comparisons != loop.MaxAsked+4 || f.Whatever != nil {
		t.Errorf("%v: %d of %d, %q", err, f.Asked, f.Comparisons, f.Whatever)
	}
}

// TestNotReached: a comparison that no run reaches, as the work sees to that, is not among those that
// were asked.
func TestNotReached(t *testing.T) {
	tier.Full(t, "it runs many commands")
	needs(t, "go")
	main := files{"go.mod": goMod, "calc.go": badGo,
		"calc_test.go": "package calc\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) {\n\tif Two() != 2 {\n\t\tt.Fatal()\n\t}\n\tif !testing.Short() {\n\t\tif Two() != 2 {\n\t\t\tt.Fatal()\n\t\t}\n\t}\n}\n"}
	for text, want := range map[string]int{
		"func init() { os.Args = append(os.Args, \"-test.short\") }": 1,
		"var _ = os.Args": 2,
	} {
		r := newRepository(t)
		claim := r.claimed(main, files{"calc.go": "package calc\n\nimport \"os\"\n\n" + text + "\n\nfunc Two() int { return 2 }\n"}, nil, goLine(t, "go test ./..."))
		claim.Controls = []string{Broken}
		if f, err := r.verify(claim); err != nil || !f.OK() || f.Asked != want || f.Comparisons != 2 || f.Whatever != nil {
			t.Errorf("%s: %v: %d of %d were asked, not %d; %q", text, err, f.Asked, f.Comparisons, want, f.Whatever)
		}
	}
}
