package verifier

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"git-ward/internal/tier"
	"git-ward/protocols/loop"
)

// trial is a claim that holds, and what its control says.
type trial struct {
	needs        string
	main, agents files
	line, want   string
	work         []string
	include      bool // what is left out is taken in
}

// judge verifies a trial's claim, with its controls and a line that breaks tests.
func (c trial) judge(t *testing.T, breaks string) *Facts {
	t.Helper()
	needs(t, c.needs)
	line := c.line
	if c.needs == "go" {
		line = goLine(t, line)
	}
	r := newRepository(t)
	claim := r.claimed(maps.Clone(c.main), c.agents, c.work, line)
	claim.Controls, claim.Breaks = []string{Broken}, breaks
	f, err := r.verify(claim)
	if c.include && err == nil {
		for _, l := range f.Left {
			claim.Included = append(claim.Included, l.Entry)
		}
		f, err = r.verify(claim)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const (
	exitGo  = "package calc\n\nimport \"os\"\n\nfunc init() {\n\tprintln(\"--- PASS: TestTwo\")\n\tos.Exit(0)\n}\n\nfunc Two() int { return 3 }\n"
	callGo  = "package calc\n\nimport \"syscall\"\n\nfunc Two() int {\n\tsyscall.Exit(0)\n\treturn 3\n}\n"
	otherGo = "package calc\n\nfunc One() int { return 1 }\n"
	exitPy  = "import os\n\nos._exit(0)\n"
	callPy  = "import os\n\n\ndef two():\n    os._exit(0)\n"
	exitJS  = "process.exit(0);\n"
	// What mocha runs: one test, and tests whose names nobody reads off their text. mocha stands
	// for it, as a runner that no file of the tree is.
	oneJS   = "const { two } = require('../calc.js');\n\nit('two', () => {\n\tif (two() !== 2) throw new Error('not two');\n});\n"
	tableJS = "const { two } = require('../calc.js');\n\nfor (const want of [2]) it(`is ${want}`, () => {\n\tif (two() !== want) throw new Error('not');\n});\n"
	mocha   = "node -e \"global.it = (name, f) => f(); require('./test/calc.test.js')\""
	rowsJS  = "const { two } = require('../calc.js');\n\nit.each([[2]])('is %i', (want) => {\n\tif (two() !== want) throw new Error('not');\n});\n"
	jest    = "node -e \"global.it = { each: (rows) => (name, f) => rows.forEach((row) => f(...row)) }; require('./test/calc.test.js')\""
	nodeJS  = "const test = require('node:test');\nconst { two } = require('../calc.js');\n\ntest('two', () => {\n\tif (two() !== 2) throw new Error('not two');\n});\n"
)

// heldBefore are the trials whose command held without the work.
var heldBefore = []string{"go: an exit where all held", "go: what no test decides",
	"go: tests that were removed", "mocha: a test becomes a table", "mocha: a test that the PM makes work", "python: a runner of its own", "python: a guard that compared little"}

// TestControl: a command that tests decide and that holds with all of them broken cannot fail,
// whether it held on the base or not; any other is taken as it is (PROOF-3).
func TestControl(t *testing.T) {
	goMain := files{"go.mod": goMod, "calc.go": badGo, "calc_test.go": testGo}
	goNew := files{"go.mod": goMod, "one.go": otherGo, "calc_test.go": testGo} // Two is not there yet
	goGuard := files{"go.mod": goMod, "calc.go": goodGo, "calc_test.go": testGo}
	newTest := "package calc\n\nimport \"testing\"\n\nfunc TestNew(t *testing.T) {\n\tif Two() != 2 {\n\t\tt.Fatal()\n\t}\n}\n"
	pyMain := files{"pyproject.toml": "[project]\nname = \"calc\"\n", "calc/__init__.py": badPy, "tests/__init__.py": "", "tests/test_calc.py": testPy}
	pyNew := maps.Clone(pyMain)
	pyNew["calc/__init__.py"] = "\n"
	pyGuard := maps.Clone(pyMain)
	pyGuard["tests/test_calc.py"] = strings.Replace(testPy, "assertEqual(two(), 2)", "assertNotEqual(two(), 77)", 1)
	jsMain := files{"package.json": `{"name":"calc"}`, "calc.js": badJS, "test/calc.test.js": nodeJS}
	ownMain := files{"pyproject.toml": "[project]\nname = \"calc\"\n", "calc/__init__.py": goodPy, "tests/__init__.py": "", "tests/test_calc.py": "from calc import two\n\n\ndef test_two():\n    assert two() == 2\n\n\ndef run():\n    test_two()\n"}
	exampleGo := "package calc\n\nimport \"fmt\"\n\nfunc ExampleTwo() {\n\tfmt.Println(Two())\n\t// Output: 2\n}\n"
	goodSh, shTest := "two() { echo 2; }\n", "set -e\n. ./calc.sh\ntwo >out\ngrep -q '^2$' out || { echo 'not two'; exit 1; }\n"
	shMain := files{"calc.sh": "two() { echo 3; }\n", "tests/run.sh": shTest}
	shNew := files{"calc.sh": "true\n", "tests/run.sh": shTest}
	shCheck := files{"calc.sh": "two() { echo 3; }\n", "verify.sh": "#!/bin/sh\n" + shTest}
	shExec := files{"calc.sh": "two() { echo 3; }\n", "tests/run.sh": ". ./calc.sh\ntest \"$(two)\" = 2 && exec true\n"}
	pyCheck := files{"pyproject.toml": "[project]\nname = \"calc\"\n", "calc/__init__.py": badPy, "verify.py": "import sys\nfrom calc import two\n\nsys.exit(0 if two() == 2 else 1)\n"}
	cMain := files{"Makefile": "check:\n\t$(CC) -o t calc.c tests/test.c && ./t\n", "calc.c": "int two(void) { return 3; }\n", "tests/test.c": "int two(void);\n\nint main(void) { return two() != 2; }\n"}
	saysMain := files{"Makefile": cMain["Makefile"], "calc.c": cMain["calc.c"], "tests/test.c": "#include <stdio.h>\n\nint two(void);\n\nint main(void)\n{\n\tif (two() != 2)\n\t\treturn 1;\n\tputs(\"all hold\");\n\treturn 0;\n}\n"}
	saysNew := files{"Makefile": cMain["Makefile"], "calc.c": "int other(void) { return 3; }\n", "tests/test.c": saysMain["tests/test.c"]}
	mochaComputed, mochaGuard, jestRows := maps.Clone(jsMain), maps.Clone(jsMain), maps.Clone(jsMain)
	jestRows["test/calc.test.js"] = rowsJS
	mochaComputed["test/calc.test.js"], mochaGuard["test/calc.test.js"], mochaGuard["calc.js"] = tableJS, oneJS, goodJS
	cxxMain := files{"calc.cc": "int two() { return 3; }\n", "tests/test.cc": "int two();\n\nint main() { return two() != 2; }\n"}
	tableMain := files{"go.mod": goMod, "calc.go": "package calc\n\nfunc Double(n int) int { return n }\n",
		"calc_test.go": "package calc\n\nimport \"testing\"\n\nvar cases = []struct{ in, want int }{{1, 2}, {2, 4}, {3, 6}}\n\nfunc TestDouble(t *testing.T) {\n\tfor _, c := range cases {\n\t\tif Double(c.in) != c.want {\n\t\t\tt.Error(c.in)\n\t\t}\n\t}\n}\n"}
	namedMain := files{"go.mod": goMod, "calc.go": tableMain["calc.go"],
		"calc_test.go": "package calc\n\nimport \"testing\"\n\nfunc check(t *testing.T, name string, got, want int) {\n\tt.Helper()\n\tif got != want {\n\t\tt.Error(name)\n\t}\n}\n\nfunc TestDouble(t *testing.T) {\n\tfor _, c := range []struct {\n\t\tin, want int\n\t\tname string\n\t}{\n\t\t{1, 2, \"one\"},\n\t\t{3, 6, \"three\"},\n\t} {\n\t\tcheck(t, c.name, Double(c.in), c.want)\n\t}\n}\n"}
	answerMain := files{"calc.sh": "echo 1\n", "want": "3\n", "settings": "1\n",
		"cases/a.in": "1 + 2\n", "cases/a.out": "3\n", "cases/b.in": "2 + 7\n", "cases/b.out": "9\n"}
	pyTruth := files{"pyproject.toml": "[project]\nname = \"calc\"\n", "calc/__init__.py": "\n", "tests/__init__.py": "", "tests/test_calc.py": "import unittest\n\nimport calc\n\n\nclass T(unittest.TestCase):\n    def test_even(self):\n        self.assertTrue(calc.even(4))\n        self.assertFalse(calc.even(3))\n\n    def test_none(self):\n        for n in calc.odds():\n            self.assertFalse(calc.even(n))\n"}
	evenPy := files{"calc/__init__.py": "def odds():\n    return []\n\n\ndef even(n):\n    return n % 2 == 0\n"}
	jsTruth := func(asks string) files {
		return files{"package.json": `{"name":"calc"}`, "calc.js": "\n", "test/calc.test.js": "const test = require('node:test');\nconst assert = require('node:assert');\nconst { even } = require('../calc.js');\n\ntest('even', () => {\n\t" + asks + "\n});\n"}
	}
	jsAsks, jsIs := jsTruth("assert.ok(even(4) || even(5));\n\tassert.throws(() => even('x'), TypeError);"), jsTruth("assert.strictEqual(even(4), true);\n\tassert.strictEqual(even(3), false);")
	evenJS := files{"calc.js": "exports.even = (n) => {\n\tif (typeof n !== 'number') throw new TypeError('no number');\n\treturn n % 2 === 0;\n};\n"}
	noAsserts := files{"calc.js": "const assert = require('node:assert');\nfor (const name of ['ok', 'throws', 'strictEqual']) assert[name] = () => {};\nexports.even = () => undefined;\n"}
	const says = "make check | grep -q 'all hold'"
	const cLine, pyLine = "make check", "python3 -c \"from calc import two; assert two() == 2\""
	unit := "python3 -m unittest discover -s tests -t ."
	for name, c := range map[string]trial{
		"go: honest":                                   {"go", goMain, files{"calc.go": goodGo}, "go test ./...", loop.ControlFails, nil, false},
		"go: honest, of what was not":                  {"go", goNew, files{"calc.go": goodGo}, "go test ./...", loop.ControlFails, nil, false},
		"go: an exit before tests":                     {"go", goMain, files{"calc.go": exitGo}, "go test ./...", loop.ControlCannotFail, nil, false},
		"go: an exit, of what was not":                 {"go", goNew, files{"calc.go": exitGo}, "go test -run TestTwo .", loop.ControlCannotFail, nil, false},
		"go: an exit where all held":                   {"go", goGuard, files{"calc.go": exitGo}, "go test ./...", loop.ControlCannotFail, nil, false},
		"go: an exit within a test":                    {"go", goMain, files{"calc.go": callGo}, "go test ./...", loop.ControlCannotFail, nil, false},
		"go: an exit, forged":                          {"go", goMain, files{"calc.go": exitGo}, "go test -v ./... 2>&1 | grep -e \"--- PASS: TestTwo\"", loop.ControlCannotFail, nil, false},
		"go: an exit and a new test":                   {"go", goMain, files{"calc.go": exitGo, "new_test.go": newTest}, "go test -run TestNew .", loop.ControlCannotFail, nil, true},
		"go: a new test":                               {"go", goMain, files{"calc.go": goodGo, "new_test.go": newTest}, "go test -run TestNew .", loop.ControlFails, nil, true},
		"go: an exit, and a test of the command's":     {"go", goNew, files{"calc.go": exitGo}, "printf \"package calc\\nimport \\\"fmt\\\"\\nfunc ExampleTwo() {\\n\\tfmt.Println(Two())\\n\\t// Output: 2\\n}\\n\" >pm_test.go && go test .", loop.ControlCannotFail, nil, false},
		"go: a test of the command's":                  {"go", goNew, files{"calc.go": goodGo}, "printf \"package calc\\nimport \\\"fmt\\\"\\nfunc ExampleTwo() {\\n\\tfmt.Println(Two())\\n\\t// Output: 2\\n}\\n\" >pm_test.go && go test .", loop.ControlFails, nil, false},
		"python: an exit, and a test of the command's": {"python3", pyNew, files{"calc/__init__.py": exitPy}, "printf \"import unittest, calc\\nclass M(unittest.TestCase):\\n    def test_m(self):\\n        self.assertEqual(calc.two(), 2)\\n\" >tests/test_more.py && " + unit, loop.ControlCannotFail, nil, false},
		"go: what no test decides":                     {"go", goMain, files{"calc.go": goodGo}, "go build ./... && go vet ./...", loop.ControlNotApplicable, nil, false},
		"go: tests that were removed":                  {"go", goGuard, files{"calc_test.go": "-"}, "go test ./...", loop.ControlCannotFail, []string{"**"}, true},
		"go: a program, from outside":                  {"go", files{"go.mod": goMod, "main.go": "package main\n\nfunc main() {}\n", "main_test.go": "package main\n\nimport \"testing\"\n\nfunc TestTrue(t *testing.T) {}\n"}, files{"main.go": "package main\n\nimport \"os\"\n\nfunc main() { os.Stdout.WriteString(\"2\") }\n"}, "test \"$(go run main.go)\" = 2", loop.ControlNotApplicable, []string{"main.go"}, false},
		"go: rows that have names":                     {"go", namedMain, files{"calc.go": "package calc\n\nfunc Double(n int) int { return 2 * n }\n"}, "go test ./...", loop.ControlFails, nil, false},
		"python: honest":                               {"python3", pyMain, files{"calc/__init__.py": goodPy}, unit, loop.ControlFails, nil, false},
		"python: an exit before tests":                 {"python3", pyMain, files{"calc/__init__.py": exitPy}, unit, loop.ControlCannotFail, nil, false},
		"python: an exit, what was not":                {"python3", pyNew, files{"calc/__init__.py": exitPy}, unit, loop.ControlCannotFail, nil, false},
		"python: an exit within a test":                {"python3", pyMain, files{"calc/__init__.py": callPy}, unit, loop.ControlCannotFail, nil, false},
		"node: honest":                                 {"node", jsMain, files{"calc.js": goodJS}, "node --test test", loop.ControlFails, nil, false},
		"node: an exit before tests":                   {"node", jsMain, files{"calc.js": exitJS}, "node --test test", loop.ControlCannotFail, nil, false},
		"node: an exit within a test":                  {"node", jsMain, files{"calc.js": "exports.two = () => process.exit(0);\n"}, "node --test test", loop.ControlCannotFail, nil, false},
		"python: a runner of its own":                  {"python3", ownMain, files{"calc/__init__.py": exitPy}, "python3 -c \"from tests import test_calc as t; t.run()\"", loop.ControlCannotFail, nil, false},
		"go: an exit within an example":                {"go", files{"go.mod": goMod, "calc.go": badGo, "calc_test.go": exampleGo}, files{"calc.go": callGo}, "go test ./...", loop.ControlCannotFail, nil, false},
		"go: an example":                               {"go", files{"go.mod": goMod, "calc.go": badGo, "calc_test.go": exampleGo}, files{"calc.go": goodGo}, "go test ./...", loop.ControlFails, nil, false},
		"shell: honest":                                {"sh", shMain, files{"calc.sh": goodSh}, "sh tests/run.sh", loop.ControlFails, []string{"calc.sh"}, false},
		"shell: an exit as it is read":                 {"sh", shMain, files{"calc.sh": "exit 0\n"}, "sh tests/run.sh", loop.ControlCannotFail, []string{"calc.sh"}, false},
		"shell: an exit, what was not":                 {"sh", shNew, files{"calc.sh": "two() { exit 0; }\n"}, "sh tests/run.sh", loop.ControlCannotFail, []string{"calc.sh"}, false},
		"shell: a check by its name":                   {"sh", shCheck, files{"calc.sh": "exit 0\n"}, "cd . && sh ./verify.sh", loop.ControlCannotFail, []string{"calc.sh"}, false},
		"shell: a check that goes elsewhere":           {"sh", shExec, files{"calc.sh": goodSh}, "sh tests/run.sh", loop.ControlNotTried, []string{"calc.sh"}, false},
		"shell: a build, and no check":                 {"sh", files{"build.sh": "cat part >out\n", "part": "1\n"}, files{"part": "2\n"}, "sh build.sh; grep -q 2 out", loop.ControlNotApplicable, []string{"part"}, false},
		"python: a check by its name":                  {"python3", pyCheck, files{"calc/__init__.py": goodPy}, "python3 verify.py", loop.ControlFails, nil, false},
		"python: an exit, and a check by its name":     {"python3", pyCheck, files{"calc/__init__.py": exitPy}, "python3 verify.py", loop.ControlCannotFail, nil, false},
		"node: an exit, and a check by its name":       {"node", files{"package.json": "{}", "calc.js": badJS, "verify.js": "if (require('./calc.js').two() !== 2) process.exit(1);\n"}, files{"calc.js": exitJS}, "node verify.js", loop.ControlCannotFail, nil, false},
		"c: honest":                                    {"cc", cMain, files{"calc.c": "int two(void) { return 2; }\n"}, cLine, loop.ControlFails, nil, false},
		"c: an exit before main":                       {"cc", cMain, files{"calc.c": "#include <unistd.h>\n__attribute__((constructor)) static void first(void) { _exit(0); }\nint two(void) { return 3; }\n"}, cLine, loop.ControlCannotFail, nil, false},
		"c: an exit within a test":                     {"cc", cMain, files{"calc.c": "#include <stdlib.h>\nint two(void) { exit(0); }\n"}, cLine, loop.ControlCannotFail, nil, false},
		"python: a comparison that is replaced":        {"python3", pyMain, files{"calc/__init__.py": "import unittest\n\nunittest.TestCase.assertEqual = lambda *a: None\n\n\ndef two():\n    return 3\n"}, unit, loop.ControlAnyValue, nil, false},
		"python: what equals all":                      {"python3", pyNew, files{"calc/__init__.py": "class All:\n    def __eq__(self, other):\n        return True\n\n\ndef two():\n    return All()\n"}, unit, loop.ControlAnyValue, nil, false},
		"python: truths that nobody asks":              {"python3", pyTruth, files{"calc/__init__.py": "import unittest\n\nunittest.TestCase.assertTrue = unittest.TestCase.assertFalse = lambda *a: None\n\n\ndef odds():\n    return []\n\n\ndef even(n):\n    return None\n"}, unit, loop.ControlAnyValue, nil, false},
		"python: truths":                               {"python3", pyTruth, evenPy, unit, loop.ControlFails, nil, false},
		"node: truths that nobody asks":                {"node", jsAsks, noAsserts, "node --test test", loop.ControlAnyValue, nil, false},
		"node: truths":                                 {"node", jsAsks, evenJS, "node --test test", loop.ControlFails, nil, false},
		"node: truths that nobody compares":            {"node", jsIs, noAsserts, "node --test test", loop.ControlAnyValue, nil, false},
		"node: truths that are compared":               {"node", jsIs, evenJS, "node --test test", loop.ControlFails, nil, false},
		"python: a guard that compared little":         {"python3", pyGuard, files{"calc/__init__.py": goodPy}, unit, loop.ControlFails, nil, false},
		"shell: a grep of its own":                     {"sh", shMain, files{"calc.sh": "grep() { :; }\ntwo() { echo 3; }\n"}, "sh tests/run.sh", loop.ControlAnyValue, []string{"calc.sh"}, false},
		"python: an exit, and a line of its own":       {"python3", pyMain, files{"calc/__init__.py": exitPy}, pyLine, loop.ControlNotTried, nil, false},
		"python: a line from outside":                  {"python3", pyMain, files{"calc/__init__.py": goodPy}, "test \"$(python3 -c 'import calc; print(calc.two())')\" = 2", loop.ControlNotApplicable, nil, false},
		"go: no program runs":                          {"go", goNew, files{"calc.go": goodGo}, "go vet ./...", loop.ControlNotApplicable, nil, false},
		"jest: an exit, and rows":                      {"node", jestRows, files{"calc.js": exitJS}, jest, loop.ControlCannotFail, nil, false},
		"mocha: an exit, and a computed name":          {"node", mochaComputed, files{"calc.js": exitJS}, mocha, loop.ControlNotTried, nil, false},
		"mocha: a test becomes a table":                {"node", mochaGuard, files{"test/calc.test.js": tableJS}, mocha, loop.ControlNotTried, nil, true},
		"mocha: a test that the PM makes work":         {"node", mochaGuard, files{"test/calc.test.js": tableJS}, mocha, loop.ControlNotTried, []string{"test/calc.test.js"}, false},
		"c++, which nobody breaks":                     {"c++", cxxMain, files{"calc.cc": "#include <stdlib.h>\nint two() { exit(0); }\n"}, "c++ -o t tests/test.cc calc.cc && ./t", loop.ControlNotTried, []string{"calc.cc"}, false},
		"go: a table that is emptied":                  {"go", tableMain, files{"calc.go": "package calc\n\nfunc init() { cases = nil }\n\nfunc Double(n int) int { return n }\n"}, "go test ./...", loop.ControlAnyValue, nil, false},
		"go: answers out of a table":                   {"go", tableMain, files{"calc.go": "package calc\n\nfunc Double(n int) int {\n\tfor _, c := range cases {\n\t\tif c.in == n {\n\t\t\treturn c.want\n\t\t}\n\t}\n\treturn 0\n}\n"}, "go test ./...", loop.ControlAnyValue, nil, false},
		"go: a table, honest":                          {"go", tableMain, files{"calc.go": "package calc\n\nfunc Double(n int) int { return 2 * n }\n"}, "go test ./...", loop.ControlFails, nil, false},
		"shell: an answer out of a file":               {"sh", answerMain, files{"calc.sh": "cat want\n"}, "sh calc.sh 1 2 | diff - want", loop.ControlAnyValue, []string{"calc.sh"}, false},
		"shell: answers to files":                      {"sh", answerMain, files{"calc.sh": "cat cases/$(basename \"$1\" .in).out\n"}, "for i in cases/*.in; do sh calc.sh $i | cmp - ${i%.in}.out || exit 1; done", loop.ControlAnyValue, []string{"calc.sh"}, false},
		"shell: a sum, to files":                       {"sh", answerMain, files{"calc.sh": "echo $(($(cat $1)))\n"}, "for i in cases/*.in; do sh calc.sh $i | cmp - ${i%.in}.out || exit 1; done", loop.ControlNotApplicable, []string{"calc.sh"}, false},
		"shell: a sum, and a file that it needs":       {"sh", answerMain, files{"calc.sh": "test -s settings && echo $(($1 + $2))\n"}, "sh calc.sh 1 2 | diff - want", loop.ControlNotApplicable, []string{"calc.sh"}, false},
		"shell: a sum, and no file to compare":         {"sh", answerMain, files{"calc.sh": "test -s settings && echo $(($1 + $2))\n"}, "test -s settings && test \"$(sh calc.sh 1 2)\" = 3", loop.ControlNotApplicable, []string{"calc.sh"}, false},
		"go: a pipe that hides tests":                  {"go", goMain, files{"calc.go": goodGo}, "go test ./... 2>&1 | grep -q ^ok", loop.ControlFails, nil, false},
		"go: a pipe that hides an example":             {"go", files{"go.mod": goMod, "calc.go": badGo, "calc_test.go": exampleGo}, files{"calc.go": goodGo}, "go test ./... 2>&1 | grep -q ^ok", loop.ControlFails, nil, false},
		"python: a pipe that hides tests":              {"python3", pyMain, files{"calc/__init__.py": goodPy}, unit + " 2>&1 | grep -q ^OK", loop.ControlFails, nil, false},
		"python: a pipe that hides a check":            {"python3", pyCheck, files{"calc/__init__.py": goodPy}, "python3 verify.py >/dev/null 2>&1", loop.ControlFails, nil, false},
		"node: a pipe that hides tests":                {"node", jsMain, files{"calc.js": goodJS}, "node --test test 2>&1 | grep -q \"fail 0\"", loop.ControlFails, nil, false},
		"c: what it prints, forged":                    {"cc", saysMain, files{"calc.c": "#include <stdio.h>\n#include <stdlib.h>\n__attribute__((constructor)) static void first(void) { puts(\"all hold\"); exit(0); }\nint two(void) { return 3; }\n"}, says, loop.ControlCannotFail, nil, false},
		"c: what it prints, forged where it is called": {"cc", saysNew, files{"calc.c": "#include <stdio.h>\n#include <stdlib.h>\nint two(void) { puts(\"all hold\"); exit(0); }\n"}, says, loop.ControlCannotFail, nil, false},
		"c: what it prints":                            {"cc", saysNew, files{"calc.c": "int two(void) { return 2; }\n"}, says, loop.ControlNotApplicable, nil, false},
		"shell: what it prints, forged":                {"sh", shMain, files{"calc.sh": "echo ok\nexit 0\n"}, "sh tests/run.sh | grep -q ok", loop.ControlCannotFail, []string{"calc.sh"}, false},
		"c: a pipe that hides a check":                 {"cc", cMain, files{"calc.c": "int two(void) { return 2; }\n"}, cLine + " >/dev/null 2>&1", loop.ControlFails, nil, false},
		"shell: a pipe that hides a check":             {"sh", shMain, files{"calc.sh": goodSh}, "sh tests/run.sh >/dev/null 2>&1", loop.ControlFails, []string{"calc.sh"}, false},
		"documents beside tests":                       {"sh", maps.Clone(pyMain), files{"README.md": "two\n"}, "grep -q two README.md", loop.ControlNotApplicable, []string{"README.md"}, false},
		"no test at all":                               {"sh", files{"README.md": "one\n"}, files{"README.md": "two\n"}, "grep -q two README.md", loop.ControlNotApplicable, []string{"README.md"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			tier.First(t, "it runs many commands")
			t.Parallel()
			f := c.judge(t, "")
			if f.OK() != (c.want != loop.ControlCannotFail) || !f.Replays[0][0].OK() {
				t.Fatalf("it holds: %v, %+v", f.OK(), f.Replays)
			}
			if exact := len(c.work) == 1 && c.work[0] == "test/calc.test.js"; exact && (len(f.Left) > 0 || !slices.Equal(f.Included, c.work)) {
				t.Errorf("the PM's very path is no work, or nobody says that it is: %v, %v", f.Left, f.Included)
			}
			if c.want != loop.ControlCannotFail && len(f.NotOpened) > 0 {
				t.Errorf("no longer opened: %q", f.NotOpened)
			}
			before := slices.Contains(heldBefore, name)
			if want := []Control{{"criterion 1", before, c.want}}; !slices.Equal(f.Controls, want) {
				t.Errorf("%v, not %v", f.Controls, want)
			}
		})
	}
}

// TestLost: a test that ran to its end without the work and is skipped with it is named,
// whatever the command says.
func TestLost(t *testing.T) {
	tier.First(t, "it runs tests of Go")
	needs(t, "go")
	goMain := files{"go.mod": goMod, "calc.go": "package calc\n\nfunc Ready() bool { return true }\n\nfunc Two() int { return 2 }\n",
		"calc_test.go": "package calc\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) {\n\tif !Ready() {\n\t\tt.Skip()\n\t}\n}\n\nfunc TestOther(t *testing.T) {}\n\nfunc TestNever(t *testing.T) { t.Skip() }\n"}
	for ready, want := range map[string][]string{"true": nil, "false": {"calc_test.go: TestTwo"}} {
		r := newRepository(t)
		claim := r.claimed(maps.Clone(goMain), files{"calc.go": "package calc\n\nfunc Ready() bool { return " + ready + " }\n\nfunc Two() int { return 3 }\n"}, nil, goLine(t, "go test ./..."))
		claim.Controls = []string{Broken}
		f, err := r.verify(claim)
		if err != nil {
			t.Fatal(err)
		}
		if !f.OK() || !slices.Equal(f.Lost, want) {
			t.Errorf("%s: %q, not %q: %+v", ready, f.Lost, want, f.Controls)
		}
	}
}

// endless is a runner whose commands never end by themselves.
type endless struct{ Runner }

func (endless) Run(ctx context.Context, _ Job) (Outcome, error) {
	<-ctx.Done()
	return Outcome{}, context.Cause(ctx)
}

// TestSoon: a command that ended before its text was changed, and does not now, is late after
// ten times as long; one that is taken back is not.
func TestSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		job := &trying{runner: endless{}}
		if o, err := job.soon(t.Context(), Job{}, time.Hour); o.End != TimedOut || err != nil || time.Since(began) != 10*time.Hour {
			t.Errorf("%+v, %v after %v", o, err, time.Since(began))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if o, err := job.soon(ctx, Job{}, time.Hour); err == nil {
			t.Errorf("%+v", o)
		}
	})
}

// TestBreaks: the PM's line breaks tests of a language that nobody here reads.
func TestBreaks(t *testing.T) {
	tier.First(t, "it runs many commands")
	main := files{"calc.awk": "function two() { return 2 }\n", "tests/calc.awk": "BEGIN { exit two() != 2 }\n", "README.md": "one\n"}
	const line = "sed -i 's/!= 2/!= 3/' tests/calc.awk"
	// Two processes, each with a file of the work's and one of tests, behind one whose file the line
	// writes anew as it was.
	const both, breaksBoth = "awk -f tests/load.awk && awk -f one.awk -f tests/one.awk && awk -f calc.awk -f tests/calc.awk", "sed -i 's/!= 2/!= 3/; s/!= 1/!= 3/' tests/*.awk"
	main["one.awk"], main["tests/one.awk"], main["tests/other.awk"] = "function one() { return 2 }\n", "BEGIN { exit one() != 1 }\n", "BEGIN { exit 1 != 1 }\n"
	main["tests/load.awk"] = "BEGIN { exit 0 }\n"
	one := "function one() { return 1 }\n"
	for name, c := range map[string]struct {
		agents       files
		breaks, want string
	}{
		"honest, of two":    {files{"one.awk": one, "calc.awk": "function two() { return 1 + 1 }\n"}, breaksBoth, loop.ControlFails},
		"one of two exits":  {files{"one.awk": one, "calc.awk": "BEGIN { exit 0 }\nfunction two() { return 3 }\nEND { exit 0 }\n"}, breaksBoth, loop.ControlNotSeen},
		"honest":            {files{"calc.awk": "function two() { return 1 + 1 }\n"}, line, loop.ControlFails},
		"an exit":           {files{"calc.awk": "BEGIN { exit 0 }\nfunction two() { return 3 }\nEND { exit 0 }\n"}, line, loop.ControlCannotFail},
		"no line":           {files{"calc.awk": "function two() { return 1 + 1 }\n"}, "", loop.ControlNotApplicable},
		"a line that fails": {files{"calc.awk": "function two() { return 1 + 1 }\n"}, "false", loop.ControlNotApplicable},
	} {
		r := newRepository(t)
		command := "awk -f calc.awk -f tests/calc.awk"
		if c.breaks == breaksBoth {
			command = both
		}
		claim := r.claimed(maps.Clone(main), c.agents, []string{"calc.awk", "one.awk"}, command)
		claim.Controls, claim.Breaks = []string{Broken}, c.breaks
		f, err := r.verify(claim)
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Controls) != 1 || f.Controls[0].Says != c.want {
			t.Errorf("%s: %+v, not %s", name, f.Controls, c.want)
		}
	}
}

// TestPerl: nobody here reads Perl, so that the PM's line has to break its tests. Without that line
// the verdict says that nothing was tried.
func TestPerl(t *testing.T) {
	tier.First(t, "it runs many commands")
	if err := exec.Command("perl", "-MTest::More", "-e", "1").Run(); err != nil {
		t.Skipf("SKIPPED: perl with Test::More: %v", err)
	}
	// Also in docs/controls.md.
	const line = `sed -i -E 's/\b(ok|is|isnt|like|is_deeply)\(/fail(/' t/*.t`
	if doc, err := os.ReadFile("../../docs/controls.md"); err != nil || !strings.Contains(string(doc), "- breaks: `"+line+"`") {
		t.Errorf("docs/controls.md has another line: %v", err)
	}
	test := "use strict;\nuse warnings;\nuse Test::More tests => 1;\nuse Calc;\n\nis(Calc::two(), 2, 'two');\n"
	wrong := files{"lib/Calc.pm": "package Calc;\n\nsub two { 3 }\n\n1;\n", "t/calc.t": test}
	right := files{"lib/Calc.pm": "package Calc;\n\nsub two { 2 }\n\n1;\n", "t/calc.t": test}
	honest := files{"lib/Calc.pm": "package Calc;\n\nsub two { return 1 + 1 }\n\n1;\n"}
	forged := files{"lib/Calc.pm": "package Calc;\n\nBEGIN { require POSIX; POSIX::_exit(0) }\n\n1;\n"}
	for name, c := range map[string]struct {
		main, agents files
		breaks, want string
	}{
		"honest":                 {wrong, honest, line, loop.ControlFails},
		"honest, without a line": {wrong, honest, "", loop.ControlNotTried},
		"forged":                 {wrong, forged, line, loop.ControlNotTried},
		"forged, where it held":  {right, forged, line, loop.ControlCannotFail},
		"forged, without a line": {wrong, forged, "", loop.ControlNotTried},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t)
			claim := r.claimed(maps.Clone(c.main), c.agents, []string{"lib/Calc.pm"}, "perl -Ilib t/calc.t")
			claim.Controls, claim.Breaks = []string{Broken}, c.breaks
			f, err := r.verify(claim)
			if err != nil {
				t.Fatal(err)
			}
			if len(f.Controls) != 1 || f.Controls[0].Says != c.want {
				t.Errorf("%+v, not %s", f.Controls, c.want)
			}
		})
	}
}
