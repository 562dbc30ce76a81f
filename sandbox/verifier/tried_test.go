package verifier

import (
	"maps"
	"slices"
	"testing"

	"git-ward/internal/tier"
	"git-ward/protocols/loop"
)

// several is a project whose tests are more than one, a claim on it, and its control.
type several struct {
	needs        string
	main, agents files
	line, want   string
	lost         []string
	work         []string
}

const (
	goOne   = "package a\n\nfunc One() int { return 1 }\n"
	goOneOK = "package a\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {\n\tif One() != 1 {\n\t\tt.Fatal()\n\t}\n}\n"
	goParse = "package b\n\nimport \"testing\"\n\nfunc TestParse(t *testing.T) {\n\tif Parse() != 7 {\n\t\tt.Fatal()\n\t}\n}\n\nfunc TestElsewhere(t *testing.T) { t.Skip() }\n"
	pyTests = "import sys\nimport unittest\n\nfrom calc import add, parse\n\n\nclass TestCalc(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n\n    def test_parse(self):\n        self.assertEqual(parse(\"7\"), 7)\n\n    @unittest.skipIf(sys.platform != \"never\", \"elsewhere\")\n    def test_elsewhere(self):\n        self.assertEqual(parse(\"8\"), 8)\n"
	pyAdd   = "def add(a, b):\n    return a + b\n"
	pyAsync = "import unittest\n\nfrom calc import add\n\n\nclass TestCalc(unittest.IsolatedAsyncioTestCase):\n    async def test_add(self):\n        self.assertEqual(await add(1, 2), 3)\n"
	jsParse = "const test = require('node:test');\nconst assert = require('node:assert');\nconst { parse } = require('../b.js');\n\ntest('parses', () => {\n\tassert.equal(parse('7'), 7);\n});\n"
	jsTap   = "const { EventEmitter } = require('node:events');\nmodule.exports = async (name, f) => {\n\tconst t = new EventEmitter(), bad = (e) => { console.error(e); process.exitCode = 1; };\n\tt.equal = (a, b) => { if (a !== b) bad(a); t.emit('result', { ok: a === b }); };\n\tawait f(t).catch(bad);\n};\n"
	jsNew   = "const test = require('../tap.js');\nconst { parse } = require('../b.js');\n\ntest('parses', async (t) => {\n\tt.equal(parse('7'), 7);\n});\n"
	cRuns   = "check: ta tb\n\t./ta\n\t./tb\n\nta: a.c tests/ta.c\n\t$(CC) -o $@ $^\n\ntb: b.c tests/tb.c\n\t$(CC) -o $@ $^\n"
	shEach  = "for t in tests/*.sh; do sh $t || exit 1; done"
)

// projects of several tests: of those that run alone one fails on the base.
func severalProjects() (goMain, goNew, py, js, c, sh files) {
	goMain = files{"go.mod": goMod, "a/a.go": goOne, "a/a_test.go": goOneOK, "b/b.go": "package b\n\nfunc Parse() int { return 1 }\n", "b/b_test.go": goParse}
	goNew = maps.Clone(goMain)
	goNew["b/b.go"] = "package b\n"
	py = files{"pyproject.toml": "[project]\nname = \"calc\"\n", "calc/__init__.py": pyAdd, "tests/__init__.py": "", "tests/test_calc.py": pyTests}
	js = files{"package.json": "{}", "a.js": "exports.one = () => 1;\n", "b.js": "exports.parse = () => 1;\n", "test/b.test.js": jsParse,
		"test/a.test.js": "const test = require('node:test');\n\ntest('one', () => {\n\tif (require('../a.js').one() !== 1) throw new Error();\n});\n"}
	c = files{"Makefile": cRuns, "a.c": "int one(void) { return 1; }\n", "b.c": "int seven(void) { return 1; }\n",
		"tests/ta.c": "int one(void);\nint main(void) { return one() != 1; }\n", "tests/tb.c": "int seven(void);\nint main(void) { return seven() != 7; }\n"}
	sh = files{"a.sh": "one() { echo 1; }\n", "b.sh": "seven() { echo 1; }\n", "tests/a.sh": ". ./a.sh\ntest \"$(one)\" = 1\n", "tests/b.sh": ". ./b.sh\ntest \"$(seven)\" = 7\n"}
	return goMain, goNew, py, js, c, sh
}

// TestEachTest: each test of a command is looked for by itself, so none hides behind another's
// failure: not what ends one of several processes, nor what skips itself beside a passing one.
// A command of which no test was seen to come to its end is named (PROOF-3).
func TestEachTest(t *testing.T) {
	goMain, goNew, py, js, c, sh := severalProjects()
	const unit = "python3 -m unittest discover -s tests -t ."
	goExit := files{"b/b.go": "package b\n\nimport \"syscall\"\n\nfunc init() { syscall.Exit(0) }\n\nfunc Parse() int { return 1 }\n"}
	goGood := files{"b/b.go": "package b\n\nfunc Parse() int { return 7 }\n"}
	goTest := []string{"b/b_test.go: TestParse"}
	pyTest := []string{"tests/test_calc.py: test_parse"}
	pyOnly := files{"pyproject.toml": py["pyproject.toml"], "calc/__init__.py": "async def add(a, b):\n    return 0\n", "tests/__init__.py": "", "tests/test_calc.py": pyAsync}
	sums := files{"calc.sh": "two() { echo 3; }\n", "tests/run.sh": ". ./calc.sh\ntest \"$(two)\" = 2\n"}
	sumsLine := "grep -q '^test.* = 2$' tests/run.sh && ! grep -q ward tests/run.sh && sh tests/run.sh"
	cAsserts := maps.Clone(c)
	cAsserts["tests/tb.c"] = "#include <assert.h>\nint seven(void);\nint even(int);\nint main(void) {\n\tassert(even(seven() + 1));\n\treturn 0;\n}\n"
	cAsserts["b.c"] = "int seven(void) { return 2; }\nint even(int n) { return n % 2 == 0; }\n"
	for name, s := range map[string]several{
		"c: what asserts is replaced":            {"cc", cAsserts, files{"b.c": "void __assert_fail(const char *a, const char *b, unsigned c, const char *d) {}\nint seven(void) { return 2; }\nint even(int n) { return n % 2 == 0; }\n"}, "make check", loop.ControlAnyValue, nil, nil},
		"c: honest, by assert":                   {"cc", cAsserts, files{"b.c": "int seven(void) { return 7; }\nint even(int n) { return n % 2 == 0; }\n"}, "make check", loop.ControlFails, nil, nil},
		"go: one of two processes exits":         {"go", goMain, goExit, "go test ./...", loop.ControlCannotFail, goTest, nil},
		"go: the same, of what was not":          {"go", goNew, goExit, "go test ./...", loop.ControlCannotFail, goTest, nil},
		"go: honest":                             {"go", goMain, goGood, "go test ./...", loop.ControlFails, nil, nil},
		"go: honest, of what was not":            {"go", goNew, goGood, "go test ./...", loop.ControlFails, nil, nil},
		"go: honest, of one of two":              {"go", goNew, goGood, "go test ./b", loop.ControlFails, nil, nil},
		"go: nothing is printed":                 {"go", goMain, goGood, "go test ./... >/dev/null 2>&1", loop.ControlFails, nil, nil},
		"python: a skip beside what passes":      {"python3", py, files{"calc/__init__.py": pyAdd + "\n\ndef parse(s):\n    import unittest\n    raise unittest.SkipTest()\n"}, unit, loop.ControlCannotFail, pyTest, nil},
		"python: honest, beside what skips":      {"python3", py, files{"calc/__init__.py": pyAdd + "\n\ndef parse(s):\n    return int(s)\n"}, unit, loop.ControlFails, nil, nil},
		"python: what equals all, beside others": {"python3", py, files{"calc/__init__.py": pyAdd + "\n\nclass All:\n    def __eq__(self, other):\n        return True\n\n\ndef parse(s):\n    return All()\n"}, unit, loop.ControlAnyValue, nil, nil},
		"python: honest, that waits":             {"python3", pyOnly, files{"calc/__init__.py": "async def add(a, b):\n    return a + b\n"}, unit, loop.ControlFails, nil, nil},
		"node: one of two files exits":           {"node", js, files{"b.js": "process.exit(0);\n"}, "node --test test", loop.ControlCannotFail, []string{"test/b.test.js: parses"}, nil},
		"node: honest":                           {"node", js, files{"b.js": "exports.parse = Number;\n"}, "node --test test", loop.ControlFails, nil, nil},
		"node: honest, where nothing throws":     {"node", files{"package.json": "{}", "tap.js": jsTap, "b.js": "exports.parse = () => 1;\n"}, files{"b.js": "exports.parse = Number;\n", "test/new.js": jsNew}, "node test/new.js", loop.ControlFails, nil, []string{"b.js", "test/new.js"}},
		"c: one of two programs exits":           {"cc", c, files{"b.c": "#include <stdlib.h>\nint seven(void) { exit(0); }\n"}, "make check", loop.ControlCannotFail, []string{"tests/tb.c"}, nil},
		"c: honest":                              {"cc", c, files{"b.c": "int seven(void) { return 7; }\n"}, "make check", loop.ControlFails, nil, nil},
		"shell: one of two scripts exits":        {"sh", sh, files{"b.sh": "exit 0\n"}, shEach, loop.ControlCannotFail, []string{"tests/b.sh"}, []string{"*.sh"}},
		"shell: honest":                          {"sh", sh, files{"b.sh": "seven() { echo 7; }\n"}, shEach, loop.ControlFails, nil, []string{"*.sh"}},
		"shell: what fails before its tests":     {"sh", sums, files{"calc.sh": "two() { echo 2; }\n"}, sumsLine, loop.ControlNotSeen, nil, []string{"calc.sh"}},
	} {
		t.Run(name, func(t *testing.T) {
			tier.First(t, "it runs many commands")
			t.Parallel()
			needs(t, s.needs)
			line := s.line
			if s.needs == "go" {
				line = goLine(t, line)
			}
			r := newRepository(t)
			claim := r.claimed(maps.Clone(s.main), s.agents, s.work, line)
			claim.Controls = []string{Broken}
			f, err := r.verify(claim)
			if err != nil {
				t.Fatal(err)
			}
			if want := []Control{{"criterion 1", false, s.want}}; !slices.Equal(f.Controls, want) || !slices.Equal(f.Lost, s.lost) || f.OK() != (s.want != loop.ControlCannotFail) {
				t.Errorf("%v, lost %q; not %v, %q", f.Controls, f.Lost, want, s.lost)
			}
		})
	}
}
