package verifier

import (
	"maps"
	"slices"
	"testing"
)

// TestNotOpened: work may lead a command past what it checks by, where the PM's globs make work of
// what leads there. What the command opened without the work, and no longer does, is named; what
// the work deletes, renames or no longer imports is not.
func TestNotOpened(t *testing.T) {
	shell := files{"Makefile": "check:\n\tsh check.sh\n", "check.sh": "test \"$(cat answer)\" = 42\n", "answer": "41\n", "README": "main\n"}
	byScript := files{"run.sh": ". ./lib/a.sh; . ./lib/b.sh; sh check.sh\n", "lib/a.sh": "a=1\n", "lib/b.sh": "b=1\n", "check.sh": shell["check.sh"], "answer": "41\n"}
	byData := files{"Makefile": "check:\n\tcat rules >/dev/null\n\tgrep -qx 42 answer\n", "rules": "one\n", "answer": "41\n"}
	twoMakefiles := maps.Clone(shell)
	twoMakefiles["GNUmakefile"], twoMakefiles["Makefile"] = shell["Makefile"], "check:\n\t:\n"
	byName := maps.Clone(shell)
	byName["Makefile"] = "check:\n\ttest -e skip || sh check.sh\n"
	goMain := files{"go.mod": goMod, "calc.go": "package calc\n\nimport \"example.org/calc/old\"\n\nfunc Two() int { return old.Two() }\n", "old/old.go": "package old\n\nfunc Two() int { return 3 }\n",
		"calc_test.go": testGo, "testdata/want": "2\n", "README.md": "calc\n"}
	pyMain := files{"pyproject.toml": "[project]\nname = \"calc\"\n", "calc/__init__.py": "def double(n):\n    return 1\n", "tests/__init__.py": "", "tests/tables.py": "def cases():\n    return [2, 3]\n",
		"tests/test_calc.py": "import unittest\n\nfrom calc import double\nfrom tests.tables import cases\n\n\nclass T(unittest.TestCase):\n    def test_all(self):\n        for n in cases():\n            self.assertEqual(double(n), n + n)\n"}
	jsMain := files{"package.json": "{\"name\":\"calc\"}", "calc.js": "exports.double = (n) => 1;\n", "test/tables.js": "exports.cases = () => [2, 3];\n",
		"test/calc.test.js": "const test = require('node:test');\nconst assert = require('node:assert');\nconst { double } = require('../calc');\nconst { cases } = require('./tables');\ntest('all', () => {\n\tfor (const n of cases()) assert.equal(double(n), n + n);\n});\n"}
	all := []string{"**"}
	for name, c := range map[string]struct {
		needs        string
		main, agents files
		work         []string
		line         string
		want         []string
	}{
		"a makefile":            {"make", shell, files{"Makefile": "check:\n\t:\n"}, all, "make check", []string{"answer", "check.sh"}},
		"another makefile":      {"make", shell, files{"GNUmakefile": "check:\n\t:\n"}, all, "make check", []string{"Makefile", "answer", "check.sh"}},
		"a name":                {"make", byName, files{"skip": "\n"}, all, "make check", []string{"answer", "check.sh"}},
		"a makefile less":       {"make", twoMakefiles, files{"GNUmakefile": "-"}, all, "make check", []string{"answer", "check.sh"}},
		"a script, by its name": {"sh", byScript, files{"run.sh": ":\n"}, []string{"run.sh"}, "sh run.sh || :", []string{"answer", "check.sh", "lib/a.sh", "lib/b.sh"}},
		"data that it touches":  {"make", byData, files{"Makefile": "check:\n\t:\n", "rules": "two\n"}, all, "make check", []string{"answer", "rules"}},
		"what its line opens":   {"make", shell, files{"Makefile": "check:\n\t:\n", "README": "work\n"}, all, "make check; cat answer check.sh", nil},
		"honest":                {"make", shell, files{"answer": "42\n", "README": "work\n", "Makefile": "check: more\n\tsh check.sh\nmore:\n"}, all, "make check", nil},
		"it deletes":            {"sh", byScript, files{"run.sh": ". ./lib/a.sh; sh check.sh\n", "lib/b.sh": "-", "answer": "42\n"}, []string{"run.sh", "lib/**", "answer"}, "sh run.sh", nil},
		"it renames":            {"sh", byScript, files{"run.sh": ". ./lib/a.sh; . ./lib/c.sh; sh check.sh\n", "lib/b.sh": "-", "lib/c.sh": "b=1\n", "answer": "42\n"}, []string{"run.sh", "lib/**", "answer"}, "sh run.sh", nil},
		"no longer imported":    {"go", goMain, files{"calc.go": goodGo, "go.mod": goMod + "\n", "README.md": "calc, and two\n"}, all, "go test .", nil},
		"a module's place":      {"python3", pyMain, files{"calc/__init__.py": "import sys\nimport types\n\nsys.modules[\"tests.tables\"] = types.SimpleNamespace(cases=list)\n\n\ndef double(n):\n    return 1\n"}, nil, "python3 -m unittest discover -s tests -t .", []string{"tests/tables.py"}},
		"a cache's":             {"node", jsMain, files{"calc.js": "const id = require.resolve('./test/tables.js');\nrequire.cache[id] = { id, loaded: true, exports: { cases: () => [] } };\nexports.double = (n) => 1;\n"}, nil, "node --test test/calc.test.js", []string{"test/tables.js"}},
		"a test's helper":       {"python3", pyMain, files{"calc/__init__.py": "def double(n):\n    return 2 * n\n"}, nil, "python3 -m unittest discover -s tests -t .", nil},
		"of sources alone":      {"go", goMain, files{"calc.go": goodGo}, nil, "go test ./...", nil},
	} {
		t.Run(name, func(t *testing.T) {
			needs(t, c.needs)
			line := c.line
			if c.needs == "go" {
				line = goLine(t, line)
			}
			r := newRepository(t)
			claim := r.claimed(maps.Clone(c.main), c.agents, c.work, line)
			claim.Controls = []string{Broken}
			claim.Commands = append(claim.Commands, Command{Name: "held", Line: "cat $(ls) >/dev/null 2>&1; :", Held: true})
			f, err := r.verify(claim)
			if err != nil {
				t.Fatal(err)
			}
			if !f.Replays[0][0].OK() || !slices.Equal(f.NotOpened, c.want) || f.NotOpenedWhy != "" {
				t.Errorf("not opened %q, not %q; %q; %+v %+v", f.NotOpened, c.want, f.NotOpenedWhy, f.Replays, f.Controls)
			}
		})
	}
}

// TestNotOpenedUnknown: where the kernel lost what it watched, the verdict says so, if the command
// opens anything without the work; where nothing is seen from outside, it says nothing.
func TestNotOpenedUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		base, with Watched
		want       []string
		why        string
	}{
		"seen":                  {Watched{Checks: []string{"a", "b"}}, Watched{Checks: []string{"b"}}, []string{"a"}, ""},
		"lost with the work":    {Watched{Checks: []string{"a"}}, Watched{ChecksNot: "lost"}, nil, "lost"},
		"lost without it":       {Watched{Checks: []string{"a"}, ChecksNot: "lost"}, Watched{}, nil, "lost"},
		"nothing opened before": {Watched{}, Watched{ChecksNot: "lost"}, nil, ""},
		"a virtual machine":     {Watched{Checks: []string{"a"}, Not: "a virtual machine"}, Watched{Checks: []string{"a"}, Not: "a virtual machine"}, nil, ""},
	} {
		run := func(w Watched) []Run { return []Run{{Command{Name: "criterion 1"}, Outcome{Opened: &w}}} }
		f := &Facts{Replays: [][]Run{run(c.with), run(Watched{})}}
		f.unopened(run(c.base))
		if !slices.Equal(f.NotOpened, c.want) || f.NotOpenedWhy != c.why {
			t.Errorf("%s: %q, %q", name, f.NotOpened, f.NotOpenedWhy)
		}
	}
}
