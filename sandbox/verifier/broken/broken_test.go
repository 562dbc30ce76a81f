package broken

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/tier"
)

// suite is a test of a language with the code that it tests, and how it runs.
type suite struct {
	tool       string
	files      map[string]string // the tests' file is the first of names
	names      []string
	line       string
	early      string // the code under test, when it ends the process with 0
	wrong      string // and when a test fails before its end; "" where that cannot be told
	only       bool   // it can be made without its code
	hollow     bool   // its code can be made hollow
	underneath string // the file of the code
}

var suites = map[string]suite{
	"go": {tool: "go", names: []string{"x_test.go"}, files: map[string]string{
		"go.mod":    "module example.org/x\n\ngo 1.21\n",
		"x_test.go": "//go:build !never\n\n// Package x is tested.\npackage x\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) {\n\tif Two() != 2 {\n\t\tt.Fatal(1)\n\t}\n}\n\nfunc TestSkipped(t *testing.T) { t.Skip() }\n\nfunc TestUnnamed(*testing.T) {}\n\nfunc FuzzTwo(f *testing.F) { f.Fuzz(func(*testing.T, int) {}) }\n\nfunc TestMain(m *testing.M) { m.Run() }\n",
		"x.go":      "package x\n\nfunc Two() int { return 2 }\n",
	}, hollow: true, line: "go test ./...", wrong: "package x\n\nfunc Two() int { return 3 }\n", underneath: "x.go", early: "package x\n\nimport \"syscall\"\n\nfunc Two() int { syscall.Exit(0); return 3 }\n", only: true},
	"go, an example": {tool: "go", names: []string{"x_test.go"}, files: map[string]string{
		"go.mod":    "module example.org/x\n\ngo 1.21\n",
		"x_test.go": "package x\n\nimport \"fmt\"\n\nfunc ExampleTwo() {\n\tfmt.Println(Two())\n\t// Output: 2\n}\n\nfunc Example() { panic(1) }\n",
		"x.go":      "package x\n\nfunc Two() int { return 2 }\n",
	}, hollow: true, line: "go test ./...", underneath: "x.go", early: "package x\n\nimport \"syscall\"\n\nfunc Two() int { syscall.Exit(0); return 3 }\n", only: true},
	"bats": {tool: "bats", names: []string{"x.bats"}, files: map[string]string{
		"x.bats": "@test \"two\" {\n\t. ./x.sh\n\t[ \"$(two)\" = 2 ]\n}\n", "x.sh": "two() { echo 2; }\n",
	}, line: "bats .", underneath: "x.sh", early: "skip\n"},
	"python unittest": {tool: "python3", names: []string{"test_x.py"}, files: map[string]string{
		"test_x.py": "import unittest\nfrom x import two\n\n\nclass TestTwo(unittest.TestCase):\n    def setUp(self):\n        self.n = 2\n\n    def test_two(self):\n        self.assertEqual(two(), self.n)\n",
		"x.py":      "def two():\n    return 2\n",
	}, hollow: true, line: "python3 -m unittest", wrong: "def two():\n    return 3\n", underneath: "x.py", early: "import os\n\n\ndef two():\n    os._exit(0)\n", only: true},
	"python, that waits": {tool: "python3", names: []string{"test_x.py"}, files: map[string]string{
		"test_x.py": "import unittest\nfrom x import two\n\n\nclass TestTwo(unittest.IsolatedAsyncioTestCase):\n    async def test_two(self):\n        self.assertEqual(await two(), 2)\n",
		"x.py":      "async def two():\n    return 2\n",
	}, hollow: true, line: "python3 -m unittest", wrong: "async def two():\n    return 3\n", underneath: "x.py", early: "import os\n\n\nasync def two():\n    os._exit(0)\n", only: true},
	"node, that calls when it is done": {tool: "node", names: []string{"x.test.js"}, files: map[string]string{
		"x.test.js": "const test = require('node:test');\nconst { two } = require('./x.js');\n\ntest('two', (t, done) => { setImmediate(() => done(two() === 2 ? undefined : new Error('not two'))); });\n",
		"x.js":      "exports.two = () => 2;\n",
	}, line: "node --test", underneath: "x.js", early: "exports.two = () => process.exit(0);\n", only: true},
	"python, functions": {tool: "python3", names: []string{"test_x.py"}, files: map[string]string{
		"test_x.py": "from x import two\n\n\ndef test_two():\n    assert two() == 2\n",
		"x.py":      "def two():\n    return 2\n",
	}, hollow: true, line: "python3 -c 'import test_x; [f() for n, f in list(vars(test_x).items()) if n.startswith(\"test_\")]'", wrong: "def two():\n    return 3\n", underneath: "x.py", early: "import sys\n\n\ndef two():\n    sys.exit(0)\n", only: true},
	"node": {tool: "node", names: []string{"x.test.js"}, files: map[string]string{
		"x.test.js": "const test = require('node:test');\nconst assert = require('node:assert');\nconst { two } = require('./x.js');\n\ntest('two', () => { assert.equal(two(), 2); });\ntest(\"later\", async () => {});\n",
		"x.js":      "exports.two = () => 2;\n",
	}, line: "node --test", wrong: "exports.two = () => 3;\n", underneath: "x.js", early: "exports.two = () => process.exit(0);\n", only: true},
	"node, rows": {tool: "node", names: []string{"x.test.js"}, files: map[string]string{
		"x.test.js": "const { two } = require('./x.js');\n\nit.each([\n\t[2, (n) => n, ')'],\n])('is two', (n, f) => { if (f(two()) !== n) throw new Error('not two'); });\nit.each`\n\ta\n`('does nothing', () => {});\n",
		"x.js":      "exports.two = () => 2;\n",
	}, line: "node -e \"global.it = { each: (rows) => (name, f) => rows.forEach((row) => f(...row)) }; require('./x.test.js')\"", wrong: "exports.two = () => 3;\n", underneath: "x.js", early: "exports.two = () => process.exit(0);\n", only: true},
	"node, modules": {tool: "node", names: []string{"x.test.mjs"}, files: map[string]string{
		"x.test.mjs": "import { describe, it } from 'node:test';\nimport assert from 'node:assert';\nimport { two } from './x.mjs';\n\ndescribe('x', () => {\n\tit('is two', () => assert.equal(two(), 2));\n});\n",
		"x.mjs":      "export const two = () => 2;\n",
	}, line: "node --test", wrong: "export const two = () => 3;\n", underneath: "x.mjs", early: "export const two = () => 3;\nprocess.exit(0);\n", only: true},
	"rust": {tool: "cargo", names: []string{"tests/x.rs"}, files: map[string]string{
		"Cargo.toml": "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
		"tests/x.rs": "#[test]\nfn two() {\n    assert_eq!(x::two(), 2);\n}\n",
		"src/lib.rs": "pub fn two() -> i32 { 2 }\n",
	}, line: "cargo test --offline", wrong: "pub fn two() -> i32 { 3 }\n", underneath: "src/lib.rs", early: "pub fn two() -> i32 { std::process::exit(0) }\n"},
}

// TestControls: tests that hold fail at their end, and do not where the code that they test
// ends the process; tests alone need none of that code (PROOF-3).
func TestControls(t *testing.T) {
	for name, s := range suites {
		t.Run(name, func(t *testing.T) {
			tier.First(t, "it runs tests of several languages")
			t.Parallel()
			if err := exec.Command(s.tool, "version").Run(); err != nil && exec.Command(s.tool, "--version").Run() != nil {
				t.Skipf("SKIPPED: %s does not work here: %v", s.tool, err)
			}
			file := s.names[0]
			text := s.files[file]
			ends, ok := AtEnd(file, text, all(End))
			if !ok {
				t.Fatal("no test was found")
			}
			s.run(t, true, nil)
			says(t, s.run(t, false, map[string]string{file: ends}), true, true)
			says(t, s.run(t, true, map[string]string{file: ends, s.underneath: s.early}), false, false)
			if s.wrong != "" {
				says(t, s.run(t, false, map[string]string{file: ends, s.underneath: s.wrong}), false, true)
			}
			tell, _ := AtEnd(file, text, all(Tell))
			s.tells(t, file, tell)
			if pass, ok := AtEnd(file, text, all(Pass)); ok && s.wrong != "" {
				s.run(t, true, map[string]string{file: pass, s.underneath: s.wrong})
			}
			if hollow, ok := Hollow(s.underneath, s.early); ok != s.hollow {
				t.Fatalf("hollow: %v", ok)
			} else if ok {
				if out := s.run(t, false, map[string]string{file: ends, s.underneath: hollow}); !ran(out) {
					t.Errorf("it does not say that it ran:\n%s", out)
				}
			}
			for code := range 2 { // its code ends the process: then that decides
				if exits, ok := Exits(s.underneath, s.files[s.underneath], code); ok {
					s.run(t, code == 0, map[string]string{s.underneath: exits})
				}
			}
			for _, how := range []How{Pass, End} {
				only, ok := Only(file, text, all(how))
				if ok != s.only {
					t.Fatalf("alone: %v", ok)
				}
				if ok {
					says(t, s.run(t, how == Pass, map[string]string{file: only, s.underneath: ""}), false, how == End)
				}
			}
		})
	}
}

// all tests of a file are changed so. Those that need the code under test have the number 7.
func all(how How) Change {
	return Change{"WORD", func(name string) (int, How) {
		if name == "" || !strings.HasPrefix(name, "Fuzz") && strings.HasSuffix(strings.ToLower(strings.Trim(name, `"`)), "two") {
			return 7, how
		}
		return 8, how
	}}
}

func ran(o said) bool {
	_, ran := Said("WORD", o.output)
	return ran[7]
}

// said is what tests printed, and what they wrote to the file.
type said struct{ output, file string }

// says checks whether tests say that they came to their end, and that they ran, in both.
func says(t *testing.T, o said, ends, ran bool) {
	t.Helper()
	for _, text := range []string{o.output, o.file} {
		if e, r := Said("WORD", text); e[7] != ends || r[7] != ran {
			t.Errorf("they say %v, %v, not %v, %v:\n%s\nand in the file\n%s", e[7], r[7], ends, ran, o.output, o.file)
		}
	}
}

// tells checks tests that say what they came to in the file alone, and do else as they did.
func (s *suite) tells(t *testing.T, file, tell string) {
	t.Helper()
	for code, want := range map[string][2]bool{s.files[s.underneath]: {true, true}, s.early: {false, false}, s.wrong: {false, true}} {
		if code == "" {
			continue
		}
		o := s.run(t, code != s.wrong, map[string]string{file: tell, s.underneath: code})
		if e, r := Said("WORD", o.file); e[7] != want[0] || r[7] != want[1] || strings.Contains(o.output, "WORD") {
			t.Errorf("they say %v, %v, not %v:\n%s\nand in the file\n%s", e[7], r[7], want, o.output, o.file)
		}
	}
}

// run runs the suite with other files, "" for none, wants it to pass or not, and returns what it says.
func (s *suite) run(t *testing.T, passes bool, other map[string]string) said {
	t.Helper()
	dir := t.TempDir()
	for name, text := range s.files {
		if o, ok := other[name]; ok {
			if text = o; o == "" {
				continue
			}
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("sh", "-c", s.line)
	cmd.Dir = dir
	temp := t.TempDir()
	cmd.Env = append(os.Environ(), "GOFLAGS=", "PYTHONDONTWRITEBYTECODE=1", "TMPDIR="+temp)
	out, err := cmd.CombinedOutput()
	if (err == nil) != passes {
		t.Errorf("%v, with %v:\n%s", err, other, out)
	}
	file, _ := os.ReadFile(filepath.Join(temp, File("WORD")))
	return said{string(out), string(file)}
}

// TestNotTests: what is no test stays as it is.
func TestNotTests(t *testing.T) {
	for name, text := range map[string]string{
		"x.go":      "package x\n\nfunc TestX() {}\n",
		"x_test.go": "package x\n\nfunc TestMain(m *testing.M) {}\n\nfunc helper(t *testing.T) {}\n\nfunc (s S) TestX(t *testing.T) {}\n",
		"y_test.go": "no Go",
		"x.py":      "def helper_test():\n    pass\n\n\nclass Test:\n    pass\n",
		"x.js":      "rabbit('x', () => {});\nr.test('x');\n",
		"x.rs":      "fn test() {}\n",
		"README.md": "func TestX(t *testing.T) {}\n",
	} {
		if changed, ok := AtEnd(name, text, all(End)); ok {
			t.Errorf("%s became\n%s", name, changed)
		}
	}
	text := "package x\n\nfunc TestX(t *testing.T) {\n\tpanic(1)\n}\n\nfunc TestY(t *testing.T) {\n}\n"
	changed, _ := AtEnd("x_test.go", text, Change{"W", func(name string) (int, How) { return 1, map[string]How{"TestX": Pass}[name] }})
	if strings.Replace(changed, "\n\treturn\n", "", 1) != text {
		t.Errorf("more than one line was added:\n%s", changed)
	}
}

// TestTold: tests of one name are told apart, and where a comment must stay first it does.
func TestTold(t *testing.T) {
	t.Parallel()
	var names []string
	changed, _ := AtEnd("x.spec.ts", "/** @jest-environment jsdom */\nit('a', () => {});\nit('a', () => {});\ntest(\"b\", f);\n", Change{"W", func(name string) (int, How) {
		names = append(names, name)
		return len(names), End
	}})
	if !slices.Equal(names, []string{"a", "a'", "b"}) || !strings.HasPrefix(changed, "/** @jest-environment jsdom */\n// @ts-nocheck\nwardControl(it, 1, \"end\")('a', ") {
		t.Errorf("%q\n%s", names, changed)
	}
}

// TestManyRows: of a test that runs for many rows all say what they came to, and so few fail that
// a runner can show them.
func TestManyRows(t *testing.T) {
	tier.First(t, "it runs a test of another language")
	if err := exec.Command("python3", "--version").Run(); err != nil {
		t.Skipf("SKIPPED: python3 does not work here: %v", err)
	}
	s := suite{files: map[string]string{"test_x.py": "\"\"\"Rows.\"\"\"\nfrom __future__ import (\n    annotations,\n)\n\n\ndef test_two(n):\n    assert n < 500\n"},
		line: "python3 -c 'import test_x, sys\nbad = 0\nfor n in range(1000):\n  try: test_x.test_two(n)\n  except AssertionError: bad += 1\nsys.exit(bad in range(8, 20))'"}
	ends, ok := AtEnd("test_x.py", s.files["test_x.py"], all(End))
	if !ok {
		t.Fatal("no test was found")
	}
	o := s.run(t, false, map[string]string{"test_x.py": ends})
	if n, m := strings.Count(o.file, ":7:end"), strings.Count(o.file, ":7:fail"); n != 500 || m != 500 {
		t.Errorf("%d come to their end, and %d fail", n, m)
	}
}
