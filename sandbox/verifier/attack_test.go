package verifier

import "testing"

// TestLeftOutDecidesNothing: what a claim adds or changes where something that decides
// would find it. Each of these passes on the claimed tree; the run that decides has main's
// in its place, and the verdict names it.
func TestLeftOutDecidesNothing(t *testing.T) {
	goMain := files{"go.mod": goMod, "calc.go": badGo, "calc_test.go": testGo}
	makeMain := files{"Makefile": "check:\n\tsh ./really.sh\n", "really.sh": "exit 1\n"}
	pyMain := files{"calc.py": badPy, "tests/__init__.py": "", "tests/test_calc.py": testPy}
	jsMain := files{"package.json": `{"name":"calc","scripts":{"test":"node test/calc.js"}}`, "calc.js": badJS, "test/calc.js": testJS}
	unit := "python3 -m unittest discover -s tests -t ."
	for name, c := range map[string]attempt{
		"go TestMain in a new test file": {"go", goMain, files{"zz_test.go": cheatGo}, "go test ./...", "zz_test.go (added)"},
		"go nested go.mod": {
			"go",
			files{"go.mod": goMod, "a/calc.go": badGo, "a/calc_test.go": testGo, "b/b.go": "package b\n"},
			files{"a/go.mod": "module example.org/other\n"},
			"go test ./...",
			"a/go.mod (added)",
		},
		"go go.work": {
			"go",
			files{"go.mod": goMod, "calc.go": badGo, "calc_test.go": testGo},
			files{"go.work": "go 1.21\n\nuse ./w\n", "w/go.mod": goMod, "w/w.go": "package w\n"},
			"GOFLAGS= go test example.org/calc/...",
			"go.work (added) w/go.mod (added)",
		},
		"go replace": {"go", files{"go.mod": goMod + "\nrequire example.org/want v0.0.0\n\nreplace example.org/want => ./want\n", "want/go.mod": "module example.org/want\n", "want/want.go": "package want\n\nfunc Is(a, b int) bool { return a == b }\n",
			"calc.go": badGo, "calc_test.go": "package calc\n\nimport (\n\t\"testing\"\n\n\t\"example.org/want\"\n)\n\nfunc TestTwo(t *testing.T) {\n\tif !want.Is(Two(), 2) {\n\t\tt.Fatal()\n\t}\n}\n"},
			files{
				"go.mod":           goMod + "\nrequire example.org/want v0.0.0\n\nreplace example.org/want => ./always\n",
				"always/go.mod":    "module example.org/want\n",
				"always/always.go": "package want\n\nfunc Is(a, b int) bool { return true }\n",
			},
			"go test ./...", "always/go.mod (added) go.mod (changed)"},
		"go vendor": {"go", files{"go.mod": goMod + "\nrequire example.org/want v1.0.0\n", "vendor/modules.txt": "# example.org/want v1.0.0\n## explicit\nexample.org/want\n", "vendor/example.org/want/want.go": "package want\n\nfunc Is(a, b int) bool { return a == b }\n",
			"calc.go": badGo, "calc_test.go": "package calc\n\nimport (\n\t\"testing\"\n\n\t\"example.org/want\"\n)\n\nfunc TestTwo(t *testing.T) {\n\tif !want.Is(Two(), 2) {\n\t\tt.Fatal()\n\t}\n}\n"},
			files{"vendor/example.org/want/want.go": "package want\n\nfunc Is(a, b int) bool { return true }\n"}, "GOFLAGS=-mod=vendor go test ./...", "vendor/example.org/want/want.go (changed)"},
		"go run of a package that the agent changes": {"go", files{"go.mod": goMod, "cmd/check/main.go": "package main\n\nimport \"os\"\n\nfunc main() { os.Exit(1) }\n"},
			files{"cmd/check/main.go": "package main\n\nfunc main() {}\n"}, "go run ./cmd/check", "cmd/check/main.go (changed)"},
		"go run: a file beside": {"go", files{"go.mod": goMod, "cmd/check/main.go": "package main\n\nimport \"os\"\n\nfunc main() { os.Exit(1) }\n"},
			files{"cmd/check/a.go": "package main\n\nimport \"os\"\n\nfunc init() { os.Exit(0) }\n"}, "go run ./cmd/check", "cmd/check/a.go (added)"},

		"GNUmakefile beside Makefile": {"make", makeMain, files{"GNUmakefile": "check:\n\ttrue\n"}, "make check", "GNUmakefile (added)"},
		"makefile beside Makefile":    {"make", makeMain, files{"makefile": "check:\n\ttrue\n"}, "make check", "makefile (added)"},
		"an optional include":         {"make", files{"Makefile": "-include local.conf\nRUN ?= exit 1\ncheck:\n\t$(RUN)\n"}, files{"local.conf": "RUN = true\n"}, "make check", "local.conf (added)"},
		"an include of main's":        {"make", files{"Makefile": "include rules\n", "rules": "check:\n\tfalse\n"}, files{"rules": "check:\n\ttrue\n"}, "make check", "rules (changed)"},
		"an include by a variable":    {"make", files{"Makefile": "D := conf\n-include $(D)/*\nRUN ?= exit 1\ncheck:\n\t$(RUN)\n"}, files{"conf/a": "RUN = true\n"}, "make check", "conf/a (added)"},
		"a file of a target's name":   {"make", makeMain, files{"check": "done\n"}, "make check", "check (added)"},
		"a directory of that name":    {"make", makeMain, files{"check/it": "done\n"}, "make check", "check/it (added)"},
		"a makefile to be remade":     {"make", makeMain, files{"Makefile.sh": "check:\n\ttrue\n"}, "touch -d '1 hour ago' Makefile; make check", "Makefile.sh (added)"},
		"the script of a recipe":      {"make", makeMain, files{"really.sh": "exit 0\n"}, "make check", "really.sh (changed)"},
		"make -C":                     {"make", files{"sub/Makefile": "check:\n\tfalse\n"}, files{"sub/GNUmakefile": "check:\n\ttrue\n"}, "make -C sub check", "sub/GNUmakefile (added)"},
		"an object that is there":     {"make", files{"Makefile": "check: t.o\n\tsh t.o\nt.o: t.src\n\tcp t.src t.o\n", "t.src": "exit 1\n"}, files{"t.o": "exit 0\n"}, "touch -d '1 hour ago' t.src; make check", "t.o (added)"},

		"python shadows unittest":           {"python3", pyMain, files{"unittest.py": "import sys\nsys.exit(0)\n"}, unit, "unittest.py (added)"},
		"python package unittest":           {"python3", pyMain, files{"unittest/__init__.py": "", "unittest/__main__.py": "pass\n"}, unit, "unittest/__init__.py (added) unittest/__main__.py (added)"},
		"python shadows a dependency":       {"python3", pyMain, files{"argparse.py": "import os\nos._exit(0)\n"}, unit, "argparse.py (added)"},
		"python module on the command line": {"python3", files{"calc/__init__.py": "", "calc/proof.py": "raise SystemExit(1)\n"}, files{"calc/proof.py": "pass\n"}, "python3 -m calc.proof", "calc/proof.py (changed)"},
		"a wrapper of any name":             {"python3", files{"calc/__init__.py": "", "calc/proof.py": "raise SystemExit(1)\n"}, files{"calc/proof.py": "pass\n"}, "nice -n 1 env A=b python3 calc/proof.py", "calc/proof.py (changed)"},
		"a program's directory":             {"go", files{"cmd/proof/main.go": "package main\n\nimport \"os\"\n\nfunc main() { os.Exit(1) }\n"}, files{"cmd/proof/main.go": "package main\n\nfunc main() {}\n"}, "go run ./cmd/proof", "cmd/proof/main.go (changed)"},
		"a manifest's command line":         {"npm", files{"package.json": `{"name":"calc","scripts":{"test":"node lib/proof"}}`, "lib/proof.js": "process.exit(1)\n"}, files{"lib/proof.js": "1\n"}, "npm test", "lib/proof.js (changed)"},
		"python new test file":              {"python3", pyMain, files{"tests/test_a.py": "import os\nos._exit(0)\n"}, unit, "tests/test_a.py (added)"},
		"python beside the script":          {"python3", files{"tools/check.py": "import json\nimport sys\nsys.exit(1)\n"}, files{"tools/json.py": "import os\nos._exit(0)\n"}, "python3 tools/check.py", "tools/json.py (added)"},
		"python beside, at the top":         {"python3", files{"check.py": "import json\nimport sys\nsys.exit(1)\n"}, files{"json.py": "import os\nos._exit(0)\n"}, "python3 check.py", "json.py (added)"},
		"python optional import": {
			"python3",
			files{"check.py": "try:\n    import local_settings\nexcept ImportError:\n    pass\nimport sys\nsys.exit(1)\n"},
			files{"local_settings.py": "import os\nos._exit(0)\n"},
			"python3 check.py",
			"local_settings.py (added)",
		},
		"python package before a module": {"python3", files{"check.py": "import helper\nhelper.check()\n", "helper.py": "def check():\n    raise SystemExit(1)\n"}, files{"helper/__init__.py": "def check():\n    pass\n"},
			"python3 check.py", "helper/__init__.py (added)"},
		"python shadows the tested module": {"python3", files{"src/calc.py": badPy, "tests/__init__.py": "", "tests/test_calc.py": testPy}, files{"calc.py": goodPy}, "PYTHONPATH=src " + unit, "calc.py (added)"},
		"PYTHONPATH": {
			"python3",
			files{"check.py": "import textwrap\nraise SystemExit(1)\n"},
			files{"py/textwrap.py": "import os\nos._exit(0)\n"},
			"PYTHONPATH=py python3 check.py",
			"py/textwrap.py (added)",
		},

		"package.json scripts": {"npm", jsMain, files{"package.json": `{"name":"calc","scripts":{"test":"true"}}`}, "npm test", "package.json (changed)"},
		"package.json pretest": {"npm", jsMain, files{"package.json": `{"name":"calc","scripts":{"pretest":"cp good calc.js","test":"node test/calc.js"}}`, "good": goodJS}, "npm test", "good (added) package.json (changed)"},
		".npmrc":               {"npm", jsMain, files{".npmrc": "script-shell=./yes\n", "+yes": "#!/bin/sh\nexit 0\n"}, "npm test", ".npmrc (added) yes (added)"},
		"node_modules": {
			"node",
			files{"check.js": "let want\ntry {\n  want = require('want')\n} catch (e) {\n  process.exit(1)\n}\n"},
			files{"node_modules/want/index.js": "process.exit(0)\n"},
			"node check.js",
			"node_modules/want/index.js (added)",
		},
		"the script of a script":    {"npm", files{"package.json": `{"scripts":{"test":"node check.js"}}`, "check.js": "process.exit(1)\n"}, files{"check.js": "process.exit(0)\n"}, "npm test", "check.js (changed)"},
		"a file before a directory": {"node", files{"test/run.js": "require('../lib')\n", "lib/index.js": "process.exit(1)\n"}, files{"lib.js": "process.exit(0)\n"}, "node test/run.js", "lib.js (added)"},

		"a script by way of cat":   {"sh", files{"check": "exit 1\n"}, files{"check": "exit 0\n"}, "cat check | sh", "check (changed)"},
		"a script by substitution": {"sh", files{"check": "exit 1\n"}, files{"check": "exit 0\n"}, "eval \"$(cat check)\"", "check (changed)"},
		"a script from a process":  {"bash", files{"check": "exit 1\n"}, files{"check": "exit 0\n"}, "bash -c '. <(cat check)'", "check (changed)"},
		"an optional source gone":  {"sh", files{"check.sh": "[ -f strict ] && . ./strict\nexit 0\n", "strict": "exit 1\n"}, files{"strict": "-"}, "sh check.sh", "strict (deleted)"},
		"make's shell":             {"make", files{"Makefile": "SHELL := ./run\ncheck:\n\tfalse\n", "+run": "#!/bin/sh\nexec sh \"$@\"\n"}, files{"+run": "#!/bin/sh\nexit 0\n"}, "make check", "run (changed)"},
		"a directory by a link":    {"sh", files{"README": "1\n"}, files{"node_modules": "-> deps", "deps/x": "y"}, "test \"$(find . -type l | wc -l)\" = 1", "deps/x (added) node_modules (added)"},
		"pytest that is none": {
			"python3",
			files{"calc.py": badPy},
			files{"pytest.py": "pass\n", "pytest/__init__.py": "", "pytest/__main__.py": ""},
			"python3 -m pytest --no-such-flag",
			"pytest.py (added) pytest/__init__.py (added) pytest/__main__.py (added)",
		},
		"a sourced script": {
			"sh",
			files{"ci/check.sh": ". \"$(dirname \"$0\")/lib/common\"\ncheck\n", "ci/lib/common": "check() { exit 1; }\n"},
			files{"ci/lib/common": "exit 0\n"},
			"sh ci/check.sh",
			"ci/lib/common (changed)",
		},
		"an optional source": {"sh", files{"check.sh": "[ -f env ] && . ./env\nexit 1\n"}, files{"env": "exit 0\n"}, "sh check.sh", "env (added)"},
		"a source in a loop": {"sh", files{"check.sh": "for f in conf/*; do [ -e \"$f\" ] && . \"$f\"; done\nexit 1\n"}, files{"conf/a": "exit 0\n"}, "sh check.sh", "conf/a (added)"},
		"a source by a variable": {
			"sh",
			files{"check.sh": "HERE=$(cd \"$(dirname \"$0\")\" && pwd)\nLIB=${LIB:-$HERE/inc}\ntest -e \"$LIB/x\" && . \"$LIB/x\"\nexit 1\n"},
			files{"inc/x": "exit 0\n"},
			"sh check.sh",
			"inc/x (added)",
		},
		"beside the script":        {"sh", files{"ci/check.sh": "cd ci\nfor f in *.local; do sh \"$f\" && exit 0; done\nexit 1\n"}, files{"ci/a.local": "exit 0\n"}, "sh ci/check.sh", "ci/a.local (added)"},
		"a called program":         {"sh", files{"check.sh": "./compare a b\n", "+compare": "#!/bin/sh\nexit 1\n"}, files{"+compare": "#!/bin/sh\nexit 0\n"}, "sh check.sh", "compare (changed)"},
		"a program on PATH":        {"sh", files{"check.sh": "PATH=./bin:$PATH\ncmp one two\n", "one": "1\n", "two": "2\n"}, files{"+bin/cmp": "#!/bin/sh\nexit 0\n"}, "sh check.sh", "bin/cmp (added)"},
		"a program on PATH's root": {"sh", files{"one": "1\n", "two": "2\n"}, files{"+cmp": "#!/bin/sh\nexit 0\n"}, "PATH=.:$PATH cmp one two", "cmp (added)"},
		"BASH_ENV":                 {"bash", files{"check.sh": "exit 1\n"}, files{"start": "exit 0\n"}, "BASH_ENV=./start bash check.sh", "start (added)"},
		"a script's script":        {"sh", files{"check.sh": "sh two.sh\n", "two.sh": "sh three.sh\n", "three.sh": "exit 1\n"}, files{"three.sh": "exit 0\n"}, "sh check.sh", "three.sh (changed)"},
		"what find finds": {
			"sh",
			files{"check.sh": "for f in $(find . -name '*-check.sh'); do sh \"$f\" || exit 1; done\n", "a-check.sh": "exit 1\n"},
			files{"a-check.sh": "exit 0\n"},
			"bash check.sh",
			"a-check.sh (changed)",
		},
		"xargs": {"bash", files{"check.sh": "ls checks.d/* | xargs -n1 sh\n", "checks.d/a.sh": "exit 1\n"}, files{"checks.d/a.sh": "exit 0\n"}, "bash check.sh", "checks.d/a.sh (changed)"},
	} {
		t.Run(name, func(t *testing.T) {
			c.judge(t, func(f *Facts) {
				if ok(f.Replays[0]) {
					t.Errorf("the run that decides:\n%s", ends(f.Replays[0]))
				}
				if !ok(f.With) {
					t.Errorf("this is no attack: all of the claim\n%s", ends(f.With))
				}
			})
		})
	}
}
