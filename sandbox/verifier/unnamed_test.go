package verifier

import (
	"strings"
	"testing"

	"git-ward/internal/tier"
)

// goEq is a package with a helper of tests, and goImports a test that it helps.
func goEq(pkg, is string) string {
	return "package " + pkg + "\n\nfunc Eq(a, b int) bool { return " + is + " }\n"
}

func goImports(pkg string) string {
	return "package calc\n\nimport (\n\t\"testing\"\n\n\t\"example.org/calc/internal/" + pkg + "\"\n)\n\n" +
		"func TestTwo(t *testing.T) {\n\tif !" + pkg + ".Eq(Two(), 2) {\n\t\tt.Fatal()\n\t}\n}\n"
}

// TestWhatTestsReadAndListsName: what decides without being run by name: data that
// tests compare with, what only tests are made with, lists and flags that scripts read,
// what make finds by a pattern, tests within the work's own text. Each was EXACT in
// silence once; now the run that decides has main's, and the verdict names it.
func TestWhatTestsReadAndListsName(t *testing.T) {
	tier.Full(t, "it runs many commands")
	goT := "package calc\n\nimport (\n\t\"os\"\n\t\"strings\"\n\t\"testing\"\n)\n\nfunc TestTwo(t *testing.T) {\n\tb, _ := os.ReadFile(\"FILE\")\n\tif strings.TrimSpace(string(b)) != \"1\" {\n\t\tt.Fatal(Two())\n\t}\n}\n"
	rep := func(f string) string { return strings.ReplaceAll(goT, "FILE", f) }
	pyT := "import unittest\nfrom pathlib import Path\nclass T(unittest.TestCase):\n    def test_two(self):\n        self.assertEqual(Path('FILE').read_text().strip(), '1')\n"
	for name, c := range map[string]attempt{
		"go golden beside": {"go", files{"go.mod": goMod, "calc.go": badGo, "calc_test.go": rep("want.txt"), "want.txt": "2\n"}, files{"want.txt": "1\n"}, "go test ./...", "want.txt (changed)"},
		"go golden dir": {
			"go",
			files{"go.mod": goMod, "calc.go": badGo, "calc_test.go": rep("golden/want.txt"), "golden/want.txt": "2\n"},
			files{"golden/want.txt": "1\n"},
			"go test ./...",
			"golden/want.txt (changed)",
		},
		"go fixtures": {
			"go",
			files{"go.mod": goMod, "calc.go": badGo, "calc_test.go": rep("fixtures/want.txt"), "fixtures/want.txt": "2\n"},
			files{"fixtures/want.txt": "1\n"},
			"go test ./...",
			"fixtures/want.txt (changed)",
		},
		"go golden elsewhere": {
			"go",
			files{"go.mod": goMod, "calc.go": badGo, "calc_test.go": rep("data/want.golden"), "data/want.golden": "2\n"},
			files{"data/want.golden": "1\n"},
			"go test ./...",
			"data/want.golden (changed)",
		},
		"go embed in test": {
			"go",
			files{
				"go.mod":       goMod,
				"calc.go":      badGo,
				"calc_test.go": "package calc\n\nimport (\n\t_ \"embed\"\n\t\"testing\"\n)\n\n//go:embed want.json\nvar want string\n\nfunc TestTwo(t *testing.T) {\n\tif want != \"1\" {\n\t\tt.Fatal()\n\t}\n}\n",
				"want.json":    "2",
			},
			files{"want.json": "1"},
			"go test ./...",
			"want.json (changed)",
		},
		"go testutil": {
			"go",
			files{"go.mod": goMod, "calc.go": badGo, "internal/testutil/eq.go": goEq("testutil", "a == b"), "calc_test.go": goImports("testutil")},
			files{"internal/testutil/eq.go": goEq("testutil", "true")},
			"go test ./...",
			"internal/testutil/eq.go (changed)",
		},
		"go calctest": {
			"go",
			files{"go.mod": goMod, "calc.go": badGo, "internal/calctest/eq.go": goEq("calctest", "a == b"), "calc_test.go": goImports("calctest")},
			files{"internal/calctest/eq.go": goEq("calctest", "true")},
			"go test ./...",
			"internal/calctest/eq.go (changed)",
		},
		"go assert": {
			"go",
			files{"go.mod": goMod, "calc.go": badGo, "internal/assert/eq.go": goEq("assert", "a == b"), "calc_test.go": goImports("assert")},
			files{"internal/assert/eq.go": goEq("assert", "true")},
			"go test ./...",
			"internal/assert/eq.go (changed)",
		},
		"go generate":        {"go", files{"go.mod": goMod, "calc.go": "package calc\n\n//go:generate false\n"}, files{"calc.go": "package calc\n\n//go:generate true\n"}, "go generate ./...", "calc.go (changed)"},
		"go generate script": {"go", files{"go.mod": goMod, "calc.go": "package calc\n\n//go:generate sh gen.sh\n", "gen.sh": "exit 1\n"}, files{"gen.sh": "exit 0\n"}, "go generate ./...", "gen.sh (changed)"},
		"make pattern rule":  {"make", files{"Makefile": "check: a.ok\n%.ok:\n\tsh really.sh\n\ttouch $@\n", "really.sh": "exit 1\n"}, files{"a.ok": "x\n"}, "make check", "a.ok (added)"},
		"make wildcard deleted": {
			"make",
			files{"Makefile": "CHECKS := $(wildcard ci.d/*)\ncheck:\n\tfor f in $(CHECKS); do sh $$f || exit 1; done\n", "ci.d/a": "exit 1\n", "ci.d/b": "exit 0\n"},
			files{"ci.d/a": "-"},
			"make check",
			"ci.d/a (deleted)",
		},
		"make wildcard rule": {
			"make",
			files{"Makefile": "CHECKS := $(wildcard ci.d/*)\ncheck: $(CHECKS)\n\tfor f in $^; do sh $$f || exit 1; done\n", "ci.d/a": "exit 1\n", "ci.d/b": "exit 0\n"},
			files{"ci.d/a": "exit 0\n"},
			"make check",
			"ci.d/a (changed)",
		},
		"make include wildcard": {"make", files{"Makefile": "RUN=false\n-include $(wildcard *.inc)\ncheck:\n\t$(RUN)\n"}, files{"a.inc": "RUN=true\n"}, "make check", "a.inc (added)"},
		"make eval file":        {"make", files{"Makefile": "$(eval $(file < conf))\ncheck:\n\t$(RUN)\n", "conf": "RUN=false\n"}, files{"conf": "RUN=true\n"}, "make check", "conf (changed)"},
		"make prereq script":    {"make", files{"Makefile": "check: conf.txt\n\tsh $<\n", "conf.txt": "exit 1\n"}, files{"conf.txt": "exit 0\n"}, "make check", "conf.txt (changed)"},
		"make vpath":            {"make", files{"Makefile": "VPATH=alt\ncheck: t.run\n\tsh $<\nt.run:\n\techo exit 1 > t.run\n"}, files{"alt/t.run": "exit 0\n"}, "make check", "alt/t.run (added)"},
		"list that is read":     {"sh", files{"check.sh": "while read f; do sh $f || exit 1; done < list\n", "list": "a\n", "a": "exit 1\n"}, files{"list": "b\n", "b": "exit 0\n"}, "sh check.sh", "b (added) list (changed)"},
		"list by cat":           {"sh", files{"check.sh": "for f in $(cat list); do sh $f || exit 1; done\n", "list": "a\n", "a": "exit 1\n"}, files{"list": "b\n", "b": "exit 0\n"}, "sh check.sh", "b (added) list (changed)"},
		"flag file":             {"sh", files{"check.sh": "if [ -f skip ]; then exit 0; fi\nexit 1\n"}, files{"skip": "\n"}, "sh check.sh", "skip (added)"},
		"flag file &&":          {"sh", files{"check.sh": "[ -e skip ] && exit 0\nexit 1\n"}, files{"skip": "\n"}, "sh check.sh", "skip (added)"},
		"flag file !":           {"sh", files{"check.sh": "[ -e strict ] || exit 0\nexit 1\n", "strict": "\n"}, files{"strict": "-"}, "sh check.sh", "strict (deleted)"},
		"python golden":         {"python3", files{"test_a.py": strings.ReplaceAll(pyT, "FILE", "want.txt"), "want.txt": "2"}, files{"want.txt": "1"}, "python3 -m unittest", "want.txt (changed)"},
		"python golden __file__": {
			"python3",
			files{"pkg/__init__.py": "", "pkg/test_a.py": strings.ReplaceAll(pyT, "Path('FILE')", "(Path(__file__).parent / 'want.txt')"), "pkg/want.txt": "2"},
			files{"pkg/want.txt": "1"},
			"python3 -m unittest pkg.test_a",
			"pkg/want.txt (changed)",
		},
		"python helper": {
			"python3",
			files{
				"helpers.py": "def same(a, b):\n    return a == b\n",
				"calc.py":    badPy,
				"test_a.py":  "import unittest\nfrom helpers import same\nfrom calc import two\nclass T(unittest.TestCase):\n    def test_two(self):\n        self.assertTrue(same(two(), 2))\n",
			},
			files{"helpers.py": "def same(a, b):\n    return True\n"},
			"python3 -m unittest",
			"helpers.py (changed)",
		},
		"python sys.path shadow": {
			"python3",
			files{"check.py": "import sys\nsys.path.insert(0, 'third')\nimport textwrap\nraise SystemExit(1)\n", "third/x.py": ""},
			files{"third/textwrap.py": "import os\nos._exit(0)\n"},
			"python3 check.py",
			"third/textwrap.py (added)",
		},
		"node --test": {
			"node",
			files{"a.test.js": "const w=require('./want.json');require('assert').equal(w.n,1)\n", "want.json": `{"n":2}`},
			files{"want.json": `{"n":1}`},
			"node --test",
			"want.json (changed)",
		},
		"node readFile": {
			"node",
			files{"a.test.js": "const w=require('fs').readFileSync('want.txt','utf8');require('assert').equal(w,'1')\n", "want.txt": `2`},
			files{"want.txt": `1`},
			"node a.test.js",
			"want.txt (changed)",
		},
		"glob criteria ?":     {"bash", files{"chk1": "exit 1\n"}, files{"chk1": "exit 0\n"}, "sh chk[0-9]", "chk1 (changed)"},
		"glob criteria prior": {"bash", files{"chk2": "exit 1\n"}, files{"chk1": "exit 0\n"}, "sh chk[0-9]", "chk1 (added)"},
		"brace":               {"bash", files{"chk2": "exit 1\n"}, files{"chk2": "exit 0\n"}, "bash -c 'for i in chk{2,3}; do sh $i; exit; done'", "chk2 (changed)"},
		"rust's own tests":    {"sh", files{"src/lib.rs": "pub fn two() -> i32 { 1 }\n#[cfg(test)]\nmod tests { }\n"}, files{"src/lib.rs": "pub fn two() -> i32 { 1 }\n"}, "true", "src/lib.rs (changed)"},
		"doctest":             {"python3", files{"calc.py": "def two():\n    \"\"\"\n    >>> two()\n    2\n    \"\"\"\n    return 1\n"}, files{"calc.py": "def two():\n    return 1\n"}, "true", "calc.py (changed)"},
		"requirements":        {"sh", files{"requirements.txt": "want==1\n"}, files{"requirements.txt": "./always\n"}, "true", "requirements.txt (changed)"},
		"a package in a file": {"sh", files{"package.json": `{"dependencies":{"want":"1.0.0"}}`}, files{"package.json": `{"dependencies":{"want":"always.tgz"}}`}, "true", "package.json (changed)"},
	} {
		t.Run(name, func(t *testing.T) {
			c.judge(t, func(f *Facts) {
				if ok(f.Replays[0]) != (c.line == "true") || !ok(f.With) {
					t.Errorf("without:\n%s\nwith:\n%s", ends(f.Replays[0]), ends(f.With))
				}
			})
		})
	}
}
