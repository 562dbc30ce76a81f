package verifier

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/sources"
	"git-ward/internal/tier"
)

// honest is what a directive asks for and an agent does.
type honest struct {
	attempt
	work []string // the directive's - work:
	asks bool     // the work needs a word of the PM's, and one is enough
}

// TestKindsOfDirectives: honest work of the usual kinds ends well, with at most one word
// of the PM's on all that was left out; and another blob at such a path needs another.
func TestKindsOfDirectives(t *testing.T) {
	tier.Full(t, "it runs many commands")
	goMain := files{"go.mod": goMod, "calc.go": badGo, "calc_test.go": testGo, "cmd/calc/main.go": "package main\n\nfunc main() { println(1) }\n"}
	pyMain := files{"pyproject.toml": "[project]\nname = \"calc\"\n", "calc/__init__.py": badPy, "tests/__init__.py": "", "tests/test_calc.py": testPy}
	jsMain := files{"package.json": `{"name":"calc","version":"1.0.0","scripts":{"test":"node test/calc.js"}}`, "calc.js": badJS, "test/calc.js": testJS}
	cMain := files{"Makefile": "check: prog\n\t./prog | grep -q 42\nprog: main.c calc.c calc.h\n\tcc -o $@ main.c calc.c\n", "calc.h": "int answer(void);\n",
		"calc.c": "#include \"calc.h\"\nint answer(void) { return 41; }\n", "main.c": "#include <stdio.h>\n#include \"calc.h\"\nint main(void) { printf(\"%d\\n\", answer()); }\n"}
	rsMain := files{"Cargo.toml": "[package]\nname = \"calc\"\n", "src/lib.rs": "pub fn two() -> i32 { 1 }\n", "src/calc.rs": "pub fn two() -> i32 { 1 }\n#[cfg(test)]\nmod tests { }\n"}
	unit := "python3 -m unittest discover -s tests -t ."
	for name, c := range map[string]honest{
		"go: a function with a test": {attempt: attempt{"go", goMain, files{"calc.go": goodGo, "more_test.go": "package calc\n\nimport \"testing\"\n\nfunc TestMore(t *testing.T) {}\n"}, "go test ./...", "more_test.go (added)"}},
		"go: a package more":         {attempt: attempt{"go", goMain, files{"calc.go": "package calc\n\nimport \"example.org/calc/in\"\n\nfunc Two() int { return in.Two }\n", "in/in.go": "package in\n\nconst Two = 2\n"}, "go test ./...", ""}},
		"go: a dependency more": {attempt: attempt{"go", goMain, files{"calc.go": "package calc\n\nimport \"example.org/in\"\n\nfunc Two() int { return in.Two }\n", "go.mod": goMod + "\nrequire example.org/in v0.0.0\n\nreplace example.org/in => ./third\n",
			"third/go.mod": "module example.org/in\n", "third/in.go": "package in\n\nconst Two = 2\n"}, "go test ./...", "go.mod (changed) third/go.mod (added)"}, asks: true},
		"go: a data file": {attempt: attempt{"go", goMain, files{"calc.go": "package calc\n\nimport _ \"embed\"\n\n//go:embed two.txt\nvar two string\n\nfunc Two() int { return len(two) }\n", "two.txt": "xx"},
			"go test ./...", "two.txt (added)"}, asks: true},
		"go: a renamed package": {attempt: attempt{"go", files{"go.mod": goMod, "old/calc.go": badGo, "use/use.go": "package use\n\nimport \"example.org/calc/old\"\n\nvar Two = calc.Two\n"},
			files{"old/calc.go": "-", "calc/calc.go": goodGo, "use/use.go": "package use\n\nimport \"example.org/calc/calc\"\n\nvar Two = calc.Two\n"}, "go vet ./... && test ! -e old", ""}},
		"go: a flag, with documents": {attempt: attempt{"go", goMain, files{"cmd/calc/main.go": "package main\n\nimport \"os\"\n\nfunc main() {\n\tif len(os.Args) > 1 {\n\t\tos.Stdout.WriteString(\"2\")\n\t}\n}\n", "README.md": "-two\n"},
			"test \"$(go run ./cmd/calc -two)\" = 2 && grep -q two README.md", "README.md (added) cmd/calc/main.go (changed)"}, asks: true},
		"go: a flag, declared": {attempt: attempt{"go", goMain, files{"cmd/calc/main.go": "package main\n\nimport \"os\"\n\nfunc main() { os.Stdout.WriteString(\"2\") }\n", "README.md": "-two\n"},
			"test \"$(go run ./cmd/calc -two)\" = 2 && grep -q two README.md", ""}, work: []string{"cmd/calc/main.go", "README.md"}},
		"python: a function with a test": {attempt: attempt{"python3", pyMain, files{"calc/__init__.py": goodPy, "tests/test_more.py": testPy}, unit, "tests/test_more.py (added)"}},
		"python: a module more":          {attempt: attempt{"python3", pyMain, files{"calc/__init__.py": "from calc.in_ import two\n", "calc/in_.py": goodPy}, unit, ""}},
		"python: a data file":            {attempt: attempt{"python3", pyMain, files{"calc/__init__.py": "from pathlib import Path\n\n\ndef two():\n    return len(Path('calc/two.txt').read_text())\n", "calc/two.txt": "xx"}, unit, "calc/two.txt (added)"}, asks: true},
		"python: a dependency more":      {attempt: attempt{"python3", pyMain, files{"calc/__init__.py": goodPy, "pyproject.toml": "[project]\nname = \"calc\"\ndependencies = [\"want\"]\n"}, unit, "pyproject.toml (changed)"}},
		"js: a function with a test":     {attempt: attempt{"npm", jsMain, files{"calc.js": goodJS, "lib/more.js": "1\n", "test/more.js": "1\n"}, "npm test", "test/more.js (added)"}},
		"js: a script more": {attempt: attempt{"npm", jsMain, files{"calc.js": goodJS, "package.json": `{"name":"calc","scripts":{"test":"node test/calc.js","lint":"true"}}`},
			"npm run lint && npm test", "package.json (changed)"}, asks: true},
		"c: a function":          {attempt: attempt{"cc", cMain, files{"calc.c": "#include \"calc.h\"\nint answer(void) { return 42; }\n"}, "make check", ""}},
		"c: a header, too":       {attempt: attempt{"cc", cMain, files{"calc.h": "#define ANSWER 42\nint answer(void);\n", "calc.c": "#include \"calc.h\"\nint answer(void) { return ANSWER; }\n"}, "make check", "calc.h (changed)"}, asks: true},
		"rust: a function":       {attempt: attempt{"sh", rsMain, files{"src/lib.rs": "pub fn two() -> i32 { 2 }\n"}, "cat src/*.rs | grep -q \"{ 2 }\"", "src/lib.rs (changed)"}, asks: true},
		"rust: tests inside":     {attempt: attempt{"sh", rsMain, files{"src/calc.rs": "pub fn two() -> i32 { 2 }\n#[cfg(test)]\nmod tests { }\n"}, "cd src && grep -rq \"{ 2 }\" .", "src/calc.rs (changed)"}, asks: true},
		"rust: tests, declared":  {attempt: attempt{"sh", rsMain, files{"src/calc.rs": "pub fn two() -> i32 { 2 }\n#[cfg(test)]\nmod tests { }\n"}, "cd src && grep -rq \"{ 2 }\" .", ""}, work: []string{"src/**"}},
		"shell: a script":        {attempt: attempt{"sh", files{"check.sh": "test \"$(sh answer.sh)\" = 42\n", "answer.sh": "echo 41\n"}, files{"answer.sh": "echo 42\n"}, "sh check.sh", "answer.sh (changed)"}, asks: true},
		"shell: declared":        {attempt: attempt{"sh", files{"check.sh": "test \"$(sh answer.sh)\" = 42\n", "answer.sh": "echo 41\n"}, files{"answer.sh": "echo 42\n"}, "sh check.sh", ""}, work: []string{"*.sh"}},
		"documents":              {attempt: attempt{"sh", files{"README.md": "old\n"}, files{"README.md": "new limit\n", "doc/limit.md": "It is 3.\n"}, "grep -q limit README.md", "README.md (changed) doc/limit.md (added)"}, asks: true},
		"go: a line go generate": {attempt: attempt{"go", files{"go.mod": goMod, "calc.go": "package calc\n\n//go:generate true\n"}, files{"calc.go": "package calc\n\n//go:generate true\n\nfunc Two() int { return 2 }\n"}, "go generate ./... && grep -q Two calc.go", "calc.go (changed)"}, asks: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needs(t, c.needs)
			c.holds(t)
		})
	}
}

// holds judges the work, includes what was left out where that is asked for, and judges it
// again.
func (c *honest) holds(t *testing.T) {
	t.Helper()
	line := c.line
	if c.needs == "go" {
		line = goLine(t, c.line)
	}
	r := newRepository(t)
	claim := r.claimed(maps.Clone(c.main), c.agents, c.work, line)
	f, err := r.verify(claim)
	if err != nil {
		t.Fatal(err)
	}
	if got := list(f); got != c.want {
		t.Errorf("left out %q, want %q", got, c.want)
	}
	if ok(f.Replays[0]) == c.asks || f.With != nil && !ok(f.With) || (f.With != nil) != (c.want != "") {
		t.Errorf("the run that decides\n%s\nand on all of it\n%s", ends(f.Replays[0]), ends(f.With))
	}
	if !c.asks {
		return
	}
	for _, l := range f.Left {
		claim.Included = append(claim.Included, l.Entry)
	}
	if f, err = r.verify(claim); err != nil || !f.OK() || f.With != nil || len(f.Left) > 0 || len(f.Included) != len(claim.Included) {
		t.Fatalf("included: %s %+v, %v", list(f), f, err)
	}
	changed := strings.Fields(c.want)[0]
	claim.Commit = r.commit(files{changed: "something else\n"})
	if f, err = r.verify(claim); err != nil || !strings.Contains(list(f), changed+" (") || slices.Contains(f.Included, changed) {
		t.Errorf("another blob at %s: %s, %v", changed, list(f), err)
	}
}

// TestWorkGlobs: what the PM declares, at its bounds: all, nothing, tests, the very path
// that a command names; and links, submodules and files in a directory's place.
func TestWorkGlobs(t *testing.T) {
	main := files{"run.sh": "1\n", "src/a": "1\n", "src/d/f": "1\n", "tests/t": "1\n", "link": "-> src/a"}
	agents := files{"run.sh": "2\n", "src/a": "2\n", "tests/t": "2\n", "tests/new": "2\n", "link": "2\n", "new": "-> src/a", "src/d/f": "-", "src/d": "-"}
	for globs, want := range map[string]string{
		"**":         "link (changed) new (added) run.sh (changed) tests/new (added) tests/t (changed)",
		"none/**":    "link (changed) new (added) run.sh (changed) src/a (changed) src/d/f (deleted) tests/new (added) tests/t (changed)",
		"tests/**":   "link (changed) new (added) run.sh (changed) src/a (changed) src/d/f (deleted) tests/new (added) tests/t (changed)",
		"src,run.sh": "link (changed) new (added) tests/new (added) tests/t (changed)",
		"":           "link (changed) new (added) run.sh (changed) src/a (changed) src/d/f (deleted) tests/new (added) tests/t (changed)",
	} {
		m := memory{}
		before, now := sources.Tree{}, sources.Tree{}
		m.add(before, main)
		maps.Copy(now, before)
		m.add(now, agents)
		c := &Claim{Commands: []Command{{Line: "sh run.sh"}}}
		if globs != "" {
			c.Work = strings.Split(globs, ",")
		}
		d, err := compare(c, before, before, now, m.blob)
		if got := list(&Facts{Left: d.left}); err != nil || got != want {
			t.Errorf("%q leaves %s, want %s, %v", globs, got, want, err)
		}
	}
	// A file that is work in the place of a directory where main's stays, and the other way
	// round: main's stays.
	m := memory{}
	before, now := sources.Tree{}, sources.Tree{}
	m.add(before, files{"a/x_test.go": "1\n", "b": "1\n"})
	m.add(now, files{"a": "2\n", "b/c.go": "2\n"})
	c := &Claim{Work: []string{"a", "b/**"}}
	if d, err := compare(c, before, before, now, m.blob); err != nil || list(&Facts{Left: d.left}) != "a (added) a/x_test.go (deleted)" || d.do["b"] != "" || d.do["b/c.go"] == "" {
		t.Errorf("%+v, %v", d, err)
	}
}
