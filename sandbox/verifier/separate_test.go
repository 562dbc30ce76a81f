package verifier

import (
	"maps"
	"slices"
	"testing"

	"git-ward/internal/tier"
)

// TestSeparate: a command is separate where each process that loads the work was started for it,
// and what starts it does not believe its exit code; any doubt is no proof (PROOF-1).
func TestSeparate(t *testing.T) {
	tier.Full(t, "it runs hundreds of commands")
	const cliPy = "import sys\n\nfrom calc import two\n\nif __name__ == '__main__':\n    print(two())\n"
	const cliGo = "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(Two()) }\n"
	const twoGo = "package main\n\nfunc Two() int { return 2 }\n"
	const testMain = "package main\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) {\n\tif Two() != 2 {\n\t\tt.Fatal()\n\t}\n}\n"
	const startsGo = "package main\n\nimport (\n\t\"os/exec\"\n\t\"testing\"\n)\n\nfunc TestTwo(t *testing.T) {\n\tif out, err := exec.Command(\"./prog\").Output(); err != nil || string(out) != \"2\\n\" {\n\t\tt.Fatal(err)\n\t}\n}\n"
	const startsPy = "import subprocess, sys, unittest\n\n\nclass T(unittest.TestCase):\n    def test_two(self):\n        self.assertEqual(subprocess.run([sys.executable, 'cli.py'], capture_output=True, text=True).stdout, '2\\n')\n"
	const runsPy = "import contextlib, io, runpy, unittest\n\n\nclass T(unittest.TestCase):\n    def test_two(self):\n        with contextlib.redirect_stdout(io.StringIO()) as out:\n            runpy.run_path('cli.py', run_name='__main__')\n        self.assertEqual(out.getvalue(), '2\\n')\n"
	mod := files{"go.mod": "module example.org/calc\n\ngo 1.21\n", "doc.txt": "2\n"}
	with := func(base files, name, text string) files {
		base = maps.Clone(base)
		base[name] = text
		return base
	}
	py := files{"calc.py": goodPy, "cli.py": cliPy}
	cMain := files{"main.c": "#include <stdio.h>\nint two(void);\n\n#ifndef LIB\nint main(void) { printf(\"%d\\n\", two()); return 0; }\n#endif\n", "two.c": "int two(void) { return 2; }\n"}
	for name, c := range map[string]struct {
		needs        string
		main, agents files
		line         string
		want         bool
	}{
		"shell: outside":                 {"sh", files{}, files{"greet.sh": "echo \"Hello, $1.\"\n"}, "sh greet.sh Ada | grep -qx 'Hello, Ada.'", true},
		"shell: outside, by its parts":   {"sh", files{}, files{"greet.sh": "#!/bin/sh\n. ./lib.sh\nhi $1\n", "lib.sh": "hi() { echo \"Hello, $1.\"; }\n"}, "test \"$(sh greet.sh Ada)\" = 'Hello, Ada.'", true},
		"shell: the exit code alone":     {"sh", files{}, files{"greet.sh": "true\n"}, "sh greet.sh", false},
		"shell: read by a test":          {"sh", files{"t/greet.sh": ". ./greet.sh\ntest \"$(hi Ada)\" = 'Hello, Ada.'\n"}, files{"greet.sh": "hi() { echo \"Hello, $1.\"; }\n"}, "sh t/greet.sh", false},
		"shell: outside, and then read":  {"sh", files{}, files{"greet.sh": "echo hi\n"}, "sh greet.sh | grep -q hi && . ./greet.sh", false},
		"python: outside":                {"python3", files{}, py, "test \"$(python3 cli.py)\" = 2", true},
		"python: outside, as a module":   {"python3", files{}, files{"calc/__init__.py": "", "calc/__main__.py": "if __name__ == '__main__':\n    print(2)\n"}, "test \"$(python3 -m calc)\" = 2", true},
		"python: a test starts it":       {"python3", files{"tests/test_cli.py": startsPy}, py, "python3 -m unittest discover -s tests", true},
		"python: a test runs it within":  {"python3", files{"tests/test_cli.py": runsPy}, py, "python3 -m unittest discover -s tests", false},
		"python: a part of main's":       {"python3", files{"cli.py": cliPy}, files{"calc.py": goodPy}, "test \"$(python3 cli.py)\" = 2", false},
		"python: a line of its own":      {"python3", files{}, py, "test \"$(python3 -c 'import cli; print(cli.two())')\" = 2", false},
		"node: outside":                  {"node", files{}, files{"cli.js": "'use strict';\nconst { two } = require('./calc.js');\nconsole.log(two());\n", "calc.js": goodJS}, "test \"$(node cli.js)\" = 2", true},
		"node: outside, modules":         {"node", files{}, files{"cli.mjs": "import { two } from './calc.mjs';\nconsole.log(two());\n", "calc.mjs": "export const two = () => 2;\n"}, "test \"$(node cli.mjs)\" = 2", true},
		"node: required":                 {"node", files{"check.js": "require('./cli.js');\n"}, files{"cli.js": "console.log(2);\n"}, "test \"$(node check.js)\" = 2", false},
		"node: imported":                 {"node", files{"check.mjs": "import './cli.mjs';\n"}, files{"cli.mjs": "console.log(2);\n"}, "test \"$(node check.mjs)\" = 2", false},
		"go: outside":                    {"go", mod, files{"main.go": cliGo, "two.go": twoGo}, "test \"$(go run .)\" = 2", true},
		"go: a test starts it":           {"go", with(mod, "x/x_test.go", startsGo), files{"main.go": cliGo, "two.go": twoGo}, "go build -o x/prog . && go test ./x", true},
		"go: a test shares it":           {"go", with(mod, "main_test.go", testMain), files{"main.go": cliGo, "two.go": twoGo}, "go test .", false},
		"go: main is not the work's":     {"go", with(mod, "main.go", cliGo), files{"two.go": twoGo}, "test \"$(go run .)\" = 2", false},
		"c: outside":                     {"cc", files{}, cMain, "cc -o p main.c two.c && test \"$(./p)\" = 2", true},
		"c: its main left out of a test": {"cc", files{"check.c": "int two(void);\nint main(void) { return two() != 2; }\n"}, cMain, "cc -DLIB -o p check.c main.c two.c && ./p", false},
		"awk: no one can tell":           {"awk", files{}, files{"calc.awk": "BEGIN { print 2 }\n"}, "test \"$(awk -f calc.awk)\" = 2", false},
		"nothing of the work is opened":  {"sh", mod, files{"greet.sh": "true\n"}, "grep -q 2 doc.txt", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needs(t, c.needs)
			line := c.line
			if c.needs == "go" {
				line = goLine(t, line)
			}
			r := newRepository(t)
			c.main = maps.Clone(c.main)
			c.main["README"] = "calc\n"
			claim := r.claimed(c.main, c.agents, slices.Collect(maps.Keys(c.agents)), line)
			claim.Controls = []string{Broken}
			f, err := r.verify(claim)
			if err != nil {
				t.Fatal(err)
			}
			if !f.Replays[0][0].OK() {
				t.Fatalf("it does not hold: %+v", f.Replays)
			}
			if got := len(f.Separate) == 1; got != c.want {
				t.Errorf("separate: %v, want %v; %+v; opened %q %q", got, c.want, f.Controls, f.Opened, f.NotObserved)
			}
		})
	}
}
