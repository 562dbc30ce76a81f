package verifier

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/tier"
	"git-ward/sandbox/verifier/broken"
)

// TestReplaced: a function that a test has by its name, and in whose place the work puts another, is
// named; what the test itself replaces is not (PROOF-3).
func TestReplaced(t *testing.T) {
	tier.Full(t, "it runs many commands")
	const (
		unit, node = "python3 -m unittest discover -s tests -t .", "node --test test"
		pyGood     = "def slow():\n    return 3\n"
		jsGood     = "exports.slow = () => 3;\n"
		clock      = "        begun = time.monotonic()\n        self.assertEqual(slow(), 3)\n        self.assertLess(time.monotonic() - begun, 0.5)\n"
		reads      = "        with open(\"tests/want\") as want:\n            self.assertEqual(str(slow()), want.read())\n"
		jsClock    = "\tconst t = Date.now();\n\tassert.strictEqual(slow(), 3);\n\tassert.ok(Date.now() - t < 300);\n"
		jsEach     = "\tassert.strictEqual(slow(), 3);\n\t[3, 4].forEach((n) => assert.strictEqual(n - 3 + slow(), n));\n"
	)
	const isBase = "import calc\n\n\nclass Own(calc.Base):\n    pass\n\n\n"
	const other = "import time\nimport unittest\n\nimport calc\n\n\nclass T(unittest.TestCase):\n    def test_other(self):\n        time.sleep(0)\n        self.assertTrue(calc)\n"
	py := func(first, body, calc string) files {
		return files{"pyproject.toml": "[project]\nname = \"calc\"\n", "calc/__init__.py": calc, "tests/__init__.py": "", "tests/want": "3",
			"tests/test_calc.py": "import time\nimport unittest\n" + first + "\nfrom calc import slow\n\n\nclass T(unittest.TestCase):\n    def test_slow(self):\n" + body}
	}
	with := func(all, more files) files {
		maps.Copy(all, more)
		return all
	}
	js := func(body, calc string) files {
		return files{"package.json": "{\"name\":\"calc\"}", "calc.js": calc,
			"test/calc.test.js": "'use strict'\nconst test = require('node:test');\nconst assert = require('node:assert');\nconst { slow } = require('../calc.js');\n\ntest('slow', () => {\n" + body + "});\n"}
	}
	module := files{"package.json": "{\"name\":\"calc\",\"type\":\"module\"}",
		"test/calc.test.js": "import test from 'node:test';\nimport assert from 'node:assert';\nimport { slow } from '../calc.js';\n\ntest('slow', () => { // and not thrice\n" + jsClock + "});\n"}
	later := files{"package.json": module["package.json"], "test/calc.test.js": strings.Replace(module["test/calc.test.js"], jsClock, "\tsetTimeout(() => {}, 0);\n\tassert.strictEqual(slow(), 3);\n", 1)}
	const pyBad, jsBad, jsThrows = "def slow():\n    return 1\n", "exports.slow = () => 1;\n", "throw new Error('later');\n"
	for name, c := range map[string]struct {
		main   files
		agents string
		named  []string
	}{
		"python: a clock":                {py("", clock, pyBad), "import time\n\ntime.monotonic = lambda: 0\n\n\n" + pyGood, []string{"tests/test_calc.py: time.monotonic"}},
		"python: a builtin":              {py("", "        self.assertTrue(abs(slow() - 3) < 0.1)\n", pyBad), "import builtins\n\nbuiltins.abs = int.__bool__\n\n\ndef slow():\n    return 3\n", []string{"tests/test_calc.py: builtins.abs"}},
		"python: what reads":             {py("", reads, pyBad), "import builtins\nimport io\n\nbuiltins.open = lambda name: io.StringIO(\"9\")\n\n\ndef slow():\n    return 9\n", []string{"tests/test_calc.py: builtins.open"}},
		"python: in a file that was not": {py("", clock, ""), "import time\n\ntime.monotonic = lambda: 0\n\n\n" + pyGood, []string{"tests/test_calc.py: time.monotonic"}},
		"python: honest":                 {py("", clock+reads, pyBad), pyGood, nil},
		"python: the test's own":         {py("time.monotonic = lambda: 0\n", clock, ""), pyGood, nil},
		"python: of no test's":           {py("", clock, pyBad), "import json\n\njson.loads = str\n\n\n" + pyGood, nil},
		// Nobody reads a test's words: these ran neither without the work nor where it does nothing.
		"python: words":              {py(isBase+"# no mock, fake, stub, spy or patch\n", clock, ""), "import time\n\ntime.monotonic = lambda: 0\n\n\nclass Base:\n    pass\n\n\n" + pyGood, []string{"tests/test_calc.py: time.monotonic"}},
		"python: a library's":        {py(isBase+"# no mock\n", clock, ""), "import time\nimport unittest.mock\n\ntime.monotonic = unittest.mock.Mock(return_value=0)\n\n\nclass Base:\n    pass\n\n\n" + pyGood, []string{"tests/test_calc.py: time.monotonic"}},
		"python: a test's name":      {py(isBase+"# no mock\n", clock, ""), "import time\n\nexec(compile(\"time.monotonic = lambda: 0\", \"tests/test_calc.py\", \"exec\"))\n\n\nclass Base:\n    pass\n\n\n" + pyGood, []string{"tests/test_calc.py: time.monotonic"}},
		"python: beside its own":     {with(py("", "        time.sleep = lambda n: None\n"+clock, ""), files{"tests/test_a.py": other}), "import time\n\ntime.sleep = lambda n: None\n\n\n" + pyGood, []string{"tests/test_a.py: time.sleep"}},
		"python: its own, unseen":    {py(isBase+"time.monotonic = lambda: 0\n", clock, ""), "class Base:\n    pass\n\n\n" + pyGood, nil},
		"python: a class of two":     {with(py(isBase+"# no mock\n", clock, ""), files{"tests/helpers.py": "def keep(self):\n    return 0\n"}), "import time\n\nfrom tests import helpers\n\n\nclass Zero(float):\n    keep = helpers.keep\n\n    def __new__(cls):\n        return 0\n\n\ntime.monotonic = Zero\n\n\nclass Base:\n    pass\n\n\n" + pyGood, []string{"tests/test_calc.py: time.monotonic"}},
		"python: before all tests":   {with(py("", clock, ""), files{"tests/__init__.py": "import calc\n"}), "import time\n\ntime.monotonic = lambda: 0\n\n\n" + pyGood, []string{"tests/test_calc.py: time.monotonic"}},
		"python: a class before all": {with(py("", clock, ""), files{"tests/__init__.py": "import calc\n"}), "import time\n\n\nclass Zero:\n    def __new__(cls):\n        return 0\n\n\ntime.monotonic = Zero\n\n\n" + pyGood, []string{"tests/test_calc.py: time.monotonic"}},
		"python: main's before all":  {with(py("", clock, pyBad), files{"tests/__init__.py": "import calc\nimport time\n\ntime.monotonic = lambda: 0\n"}), pyGood, nil},
		"node: words":                {js("\t// no mock, fake, stub, spy or patch\n"+jsClock, jsThrows), jsGood + "Date.now = () => 0;\n", []string{"test/calc.test.js: Date.now"}},
		"node: a test's name":        {js("\t// no mock\n"+jsClock, jsThrows), jsGood + "Date.now = (0, eval)('() => 0\\n//# sourceURL=file://' + process.cwd() + '/test/calc.test.js');\n", []string{"test/calc.test.js: Date.now"}},
		"node: its own, unseen":      {js("\tDate.now = () => 0;\n"+jsClock, jsThrows), jsGood, nil},
		// What a test takes in by a star, and a module that has a library's name.
		"python: a star's":                   {py("from calc import *", "        self.assertEqual(len([slow()]), 1)\n        self.assertEqual(sum([slow()]), 3)\n", pyBad), "def sum(all):\n    return 3\n\n\n" + pyBad, []string{"tests/test_calc.py: builtins.sum"}},
		"python: a star's before":            {py(isBase+"from calc import *", "        self.assertEqual(sum([slow()]), 3)\n", ""), "class Base:\n    pass\n\n\ndef sum(all):\n    return 3\n\n\n" + pyBad, []string{"tests/test_calc.py: builtins.sum"}},
		"python: a star's, honest":           {with(py(isBase+"from calc import *\nfrom tests.helpers import *\nfrom calc import sum\n\n\ndef len(all):\n    return 1\n", "        self.assertEqual((len([]), sum([]), abs(1), max([slow()])), (1, 3, 1, 3))\n        T.all = min = slow\n", ""), files{"tests/helpers.py": "def max(all):\n    return all[0]\n"}), "class Base:\n    pass\n\n\ndef sum(all):\n    return 3\n\n\nlen = min = all = sum\n\n\n" + pyGood, nil},
		"python: a library's module, before": {py(isBase+"import statistics", "        self.assertEqual(statistics.mean([slow()]), 3)\n", ""), "class Base:\n    pass\n\n\ndef mean(all):\n    return 3\n\n\n" + pyBad, []string{"tests/test_calc.py: the module statistics"}},
		"python: a library's module":         {py("import statistics", "        self.assertEqual(statistics.mean([slow()]), 3)\n", pyBad), "def mean(all):\n    return 3\n\n\n" + pyBad, []string{"tests/test_calc.py: the module statistics"}},
		"python: a name of its own":          {py("import statistics\nimport mine", "        self.assertEqual((statistics.mean([slow()]), mine.three), (3, 3))\n", pyBad), pyGood, nil},
		"python: main has its name":          {with(py("import statistics", "        self.assertEqual(statistics.mean([slow()]), 3)\n", pyBad), files{"statistics.py": "def mean(all):\n    return all[0]\n"}), pyGood, nil},
		// What leads a test is what its process began with.
		"python: a variable":             {py("import os", "        self.assertTrue(slow())\n        if not os.environ.get(\"QUICK\"):\n            self.assertEqual(slow(), 3)\n", pyBad), "import os\nimport sys\n\nos.environ[\"QUICK\"] = \"1\"\nsys.argv.append(\"-q\")\nos.chdir(\"/\")\n\n\n" + pyBad, []string{"tests/test_calc.py: sys.argv", "tests/test_calc.py: the variable QUICK", "tests/test_calc.py: the working directory"}},
		"python: a variable, honest":     {py("import os", "        self.assertEqual((slow(), os.environ.get(\"QUICK\")), (3, None))\n        os.environ[\"QUICK\"] = \"1\"\n        os.chdir(\"/\")\n", pyBad), "import os\n\nos.environ[\"OTHER\"] = \"1\"\n\n\n" + pyGood, nil},
		"node: a variable":               {js("\tassert.ok(slow());\n\tif (!process.env.QUICK) assert.strictEqual(slow(), 3);\n", jsBad), "process.env.QUICK = '1';\nprocess.argv.push('-q');\nprocess.chdir('/');\n" + jsBad, []string{"test/calc.test.js: process.argv", "test/calc.test.js: the variable QUICK", "test/calc.test.js: the working directory"}},
		"node: a variable, honest":       {js("\tassert.deepStrictEqual([slow(), process.env.QUICK], [3, undefined]);\n\tprocess.env.QUICK = '1';\n\tprocess.chdir('/');\n", jsBad), "process.env.OTHER = '1';\n" + jsGood, nil},
		"node: a module's variable":      {with(js("", "export const slow = () => 1;\n"), files{"package.json": module["package.json"], "test/calc.test.js": strings.Replace(module["test/calc.test.js"], jsClock, "\tif (!process.env.QUICK) assert.strictEqual(slow(), 3);\n", 1)}), "process.env.QUICK = '1';\nexport const slow = () => 1;\n", []string{"test/calc.test.js: the variable QUICK"}},
		"node: a module's":               {with(js("", "export const slow = () => 1;\n"), module), "export const slow = () => 3;\nDate.now = () => 0;\n", []string{"test/calc.test.js: Date.now"}},
		"node: a module's, honest":       {with(js("", "export const slow = () => 1;\n"), module), "export const slow = () => 3;\nArray.prototype.thrice = globalThis.thrice = () => 3;\n", nil},
		"node: a module's timer":         {with(js("", "export const slow = () => 1;\n"), later), "export const slow = () => 3;\nglobalThis.setTimeout = (f) => f();\n", []string{"test/calc.test.js: setTimeout"}},
		"node: a module's timer, honest": {with(js("", "export const slow = () => 1;\n"), later), "export const slow = () => 3;\nglobalThis.thrice = () => setTimeout(slow, 0);\n", nil},
		"node: before all tests":         {with(js(jsClock, jsBad), files{"setup.js": "require('./calc.js');\n"}), jsGood + "Date.now = () => 0;\n", []string{"test/calc.test.js: Date.now"}},
		"node: nobody says what is":      {with(js(jsClock, jsBad), files{"setup.js": "const get = process.getBuiltinModule;\nprocess.getBuiltinModule = (name) => {\n\tif (/inspector/.test(name)) throw new Error(name);\n\treturn get(name);\n};\nrequire('./calc.js');\n"}), jsGood + "Date.now = () => 0;\n", []string{"test/calc.test.js: " + broken.Unseen}},
		"node: nothing begins":           {with(js("\tsetTimeout(() => {}, 0);\n\tassert.strictEqual(slow(), 3);\n", jsBad), files{"setup.js": "require('worker_threads').Worker = class { unref() {} };\nrequire('child_process').spawnSync = () => ({ status: null, stdout: null });\nrequire('./calc.js');\n"}), jsGood + "globalThis.setTimeout = (f) => f();\n", []string{"test/calc.test.js: " + broken.Unseen}},
		"node: a mocked process":         {with(js("\tsetTimeout(() => {}, 0);\n\tassert.strictEqual(slow(), 3);\n", jsBad), files{"setup.js": "const m = require('module'), load = m._load;\nm._load = (name, ...all) => name === 'child_process' ? { spawnSync() {} } : load(name, ...all);\nrequire('./calc.js');\n"}), jsGood + "globalThis.setTimeout = (f) => f();\n", []string{"test/calc.test.js: setTimeout"}},
		"node: of a library's path":      {with(js("\tsetTimeout(() => {}, 0);\n\tassert.strictEqual(slow(), 3);\n", jsBad), files{"setup.js": "process.env.LD_LIBRARY_PATH = '/lib';\nprocess.execPath = __dirname + '/node.sh';\nrequire('fs').writeFileSync('node.sh', '#!/bin/sh\\ntest -n \"$LD_LIBRARY_PATH\" && exec /proc/$PPID/exe \"$@\"\\n', { mode: 0o755 });\nrequire('./calc.js');\n"}), jsGood + "globalThis.setTimeout = (f) => f();\n", []string{"test/calc.test.js: setTimeout"}},
		"node: a bound timer":            {with(js("", "export const slow = () => 1;\n"), later), "export const slow = () => 3;\nglobalThis.setTimeout = ((f) => f()).bind();\n", []string{"test/calc.test.js: setTimeout"}},
		"node: a proxy of a timer":       {with(js("", "export const slow = () => 1;\n"), later), "export const slow = () => 3;\nglobalThis.setTimeout = new Proxy(setTimeout, { apply: (of, me, [f]) => f() });\n", []string{"test/calc.test.js: setTimeout"}},
		"node: a told timer":             {with(js("", "export const slow = () => 1;\n"), later), "export const slow = () => 3;\nglobalThis.setTimeout = (0, eval)('(f) => f()\\n//# sourceURL=node:timers');\n", []string{"test/calc.test.js: setTimeout"}},
		"node: the work answers":         {with(js("", "export const slow = () => 1;\n"), later), "import cp from 'node:child_process';\nexport const slow = () => 3;\ncp.spawnSync = () => ({ stdout: '[]' });\nglobalThis.setTimeout = (f) => f();\n", []string{"test/calc.test.js: " + broken.Unseen}},
		"node: a text that is told":      {js("\t// no mock\n"+jsClock, jsThrows), jsGood + "Date.now = (0, eval)('() => 0\\n//# sourceURL=file://' + process.cwd() + '/test/calc.test.js');\nFunction.prototype.toString = () => \"'use strict'\";\n", []string{"test/calc.test.js: Date.now"}},
		"node: main's before all":        {with(js(jsClock, jsBad), files{"setup.js": "require('./calc.js');\nDate.now = () => 0;\n"}), jsGood, nil},
		"node: a clock":                  {js(jsClock, jsBad), jsGood + "Date.now = () => 0;\n", []string{"test/calc.test.js: Date.now"}},
		"node: what walks":               {js(jsEach, jsBad), jsGood + "const own = Array.prototype.forEach;\nArray.prototype.forEach = function (f) { if (this[0] !== 3) own.call(this, f); };\n", []string{"test/calc.test.js: Array.prototype.forEach"}},
		"node: what compares":            {js("\tassert.strictEqual(slow(), 3);\n", jsBad), "const assert = require('node:assert'), own = assert.strictEqual;\nassert.strictEqual = (a, b) => own(Number(a), b);\nexports.slow = () => '3';\n", []string{"test/calc.test.js: node:assert.strictEqual"}},
		"node: honest":                   {js(jsClock+jsEach, jsBad), jsGood + "Array.prototype.thrice = () => 3;\n", nil},
		"node: the test's own":           {js("\tDate.now = () => 0;\n"+jsClock, jsBad), jsGood, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line, source := unit, "calc/__init__.py"
			if strings.HasPrefix(name, "node") {
				line, source = node, "calc.js"
				if c.main["setup.js"] != "" {
					line = "NODE_OPTIONS='--require ./setup.js' " + node
				}
				needs(t, "node")
			} else {
				needs(t, "python3")
			}
			r := newRepository(t)
			work, globs := files{source: c.agents}, []string(nil)
			if strings.HasPrefix(name, "python: a library's module") {
				work["statistics.py"], globs = c.agents, []string{"*.py", "calc/*"}
			} else if strings.HasPrefix(name, "python: a name") {
				work["mine.py"], globs = "three = 3\n", []string{"*.py", "calc/*"}
			}
			claim := r.claimed(maps.Clone(c.main), work, globs, line)
			claim.Controls = []string{Broken}
			f, err := r.verify(claim)
			if err != nil {
				t.Fatal(err)
			}
			if !f.OK() || !slices.Equal(f.Replaced, c.named) {
				t.Errorf("replaced %q, not %q; %+v %+v", f.Replaced, c.named, f.Controls, f.Replays)
			}
		})
	}
}
