package broken

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/tier"
)

// checks are programs that check others, in each language that has such: suites whose first
// file is one.
var checks = map[string]suite{
	"shell": {tool: "sh", names: []string{"tests/run.sh"}, files: map[string]string{
		"tests/run.sh": "set -eu\n. ./calc.sh\nfail() { echo \"$1\"; exit 1; }\n[ \"$(two)\" = 2 ] || fail two\ntwo >/dev/null\necho ok\n", "calc.sh": "two() { echo 2; }\n",
	}, line: "sh tests/run.sh", wrong: "two() { echo 3; }\n", underneath: "calc.sh", early: "two() { echo 2; exit 0; }\n"},
	"shell, that exits": {tool: "bash", names: []string{"check.sh"}, files: map[string]string{
		"check.sh": "source \"$(dirname \"$0\")/calc.sh\"\nif [ \"$(two)\" = 2 ]; then echo ok; exit 0; fi\nexit 1\n", "calc.sh": "two() { echo 2; }\n",
	}, line: "bash ./check.sh", wrong: "two() { echo 3; }\n", underneath: "calc.sh", early: "exit 0\n"},
	"python": {tool: "python3", names: []string{"check.py"}, files: map[string]string{
		"check.py": "import sys\nfrom calc import two\n\nif two() != 2:\n    sys.exit(\"not two\")\nsys.exit(0)\n", "calc.py": "def two():\n    return 2\n",
	}, line: "python3 check.py", wrong: "def two():\n    return 3\n", underneath: "calc.py", early: "import os\n\n\ndef two():\n    os._exit(0)\n"},
	"python, to its end": {tool: "python3", names: []string{"check.py"}, files: map[string]string{
		"check.py": "from calc import two\n\nassert two() == 2\n", "calc.py": "def two():\n    return 2\n",
	}, line: "python3 ./check.py", underneath: "calc.py", early: "import sys\n\nsys.exit(0)\n"},
	"node": {tool: "node", names: []string{"check.js"}, files: map[string]string{
		"check.js": "const { two } = require('./calc.js');\nif (two() !== 2) process.exit(1);\nconsole.log('ok');\n", "calc.js": "exports.two = () => 2;\n",
	}, line: "node check.js", wrong: "exports.two = () => 3;\n", underneath: "calc.js", early: "process.exit(0);\n"},
	"node, modules": {tool: "node", names: []string{"check.mjs"}, files: map[string]string{
		"check.mjs": "import assert from 'node:assert';\nimport { two } from './calc.mjs';\nassert.equal(await two(), 2);\n", "calc.mjs": "export const two = async () => 2;\n",
	}, line: "node check.mjs", underneath: "calc.mjs", early: "export const two = () => process.exit(0);\n"},
	"shell, that cleans up": {tool: "sh", names: []string{"test.sh"}, files: map[string]string{
		"test.sh": "exec 3>log\ntmp=$(mktemp -d)\ntrap 'rm -rf \"$tmp\"' EXIT\ncommand -v cat >/dev/null || exit 0\nsleep 9 & kill $!\n. ./calc.sh\ntwo | grep -q 2 || exit 3\n", "calc.sh": "two() { echo 2; }\n",
	}, line: "sh test.sh", underneath: "calc.sh", early: "exit 0\n"},
	"python, that raises": {tool: "python3", names: []string{"check.py"}, files: map[string]string{
		"check.py": "from calc import two\n\ntry:\n    two()\nexcept SystemExit:\n    raise\nif two() == 2:\n    raise SystemExit\nraise SystemExit(two() != 2)\n", "calc.py": "def two():\n    return 2\n",
	}, line: "python3 check.py", wrong: "def two():\n    return 3\n", underneath: "calc.py", early: "import os\n\nos._exit(0)\n"},
	"c, that exits": {tool: "cc", names: []string{"test.c"}, files: map[string]string{
		"test.c": "#include <stdio.h>\n#include <stdlib.h>\nint two(void);\n\nint main(int argc, char **argv)\n{\n\t(void)argc;\n\t(void)argv;\n\tif (two() != 2) {\n\t\tfprintf(stderr, \"not two\\n\");\n\t\tabort();\n\t}\n\texit(0);\n}\n", "calc.c": "int two(void) { return 2; }\n",
	}, line: "cc -Wall -Werror -o t calc.c test.c && ./t", underneath: "calc.c", early: "#include <stdlib.h>\nint two(void) { exit(0); }\n"},
	"c, that takes and warns of all": {tool: "cc", names: []string{"test.c"}, files: map[string]string{
		"test.c": "#include <stdio.h>\n#include <stdlib.h>\nint two(void);\n\nint main(int argc, char **argv, char **env)\n{\n\tif (two() != 2)\n\t\treturn 1;\n\treturn argc > 9 && argv == env;\n}\n", "calc.c": "int two(void);\nint two(void) { return 2; }\n",
	}, line: "cc -Wall -Wextra -Wmissing-prototypes -Wmissing-declarations -Wredundant-decls -Wstrict-prototypes -Werror -o t calc.c test.c && ./t", underneath: "calc.c", wrong: "int two(void);\nint two(void) { return 3; }\n", early: "#include <stdlib.h>\nint two(void);\nint two(void) { exit(0); }\n"},
	"c, without a return": {tool: "cc", names: []string{"test.c"}, files: map[string]string{
		"test.c": "#include <assert.h>\nint two(void);\n\nint main(void)\n{\n\tassert(two() == 2);\n}\n", "calc.c": "int two(void) { return 2; }\n",
	}, line: "cc -Wall -Wmissing-prototypes -o t calc.c test.c && ./t", underneath: "calc.c", early: "#include <stdlib.h>\nint two(void) { exit(0); }\n"},
	"c": {tool: "cc", names: []string{"test_calc.c"}, files: map[string]string{
		"test_calc.c": "#include <assert.h>\nint two(void);\n\nint main(void)\n{\n\tassert(two() == 2);\n\treturn 0;\n}\n", "calc.c": "int two(void) { return 2; }\n",
	}, line: "cc -Wall -Werror -o t calc.c test_calc.c && ./t", underneath: "calc.c", early: "#include <stdlib.h>\nint two(void) { exit(0); }\n"},
}

// TestChecks: a program that checks another fails at its end, and does not where the other
// ends it; alone, it needs the other for nothing (PROOF-3).
func TestChecks(t *testing.T) {
	for name, s := range checks {
		t.Run(name, func(t *testing.T) {
			tier.First(t, "it runs programs of several languages")
			t.Parallel()
			if _, err := exec.LookPath(s.tool); err != nil {
				t.Skipf("SKIPPED: there is no %s", s.tool)
			}
			file := s.names[0]
			known := func(name string) bool { return name == "calc.sh" }
			ends, ok := CheckAtEnd(file, s.files[file], all(End), known)
			if !ok {
				t.Fatal("it is not sure of it")
			}
			s.run(t, true, nil)
			says(t, s.run(t, false, map[string]string{file: ends}), true, true)
			says(t, s.run(t, true, map[string]string{file: ends, s.underneath: s.early}), false, false)
			if s.wrong != "" {
				says(t, s.run(t, false, map[string]string{file: ends, s.underneath: s.wrong}), false, true)
			}
			tell, _ := CheckAtEnd(file, s.files[file], all(Tell), known)
			s.tells(t, file, tell)
			for _, how := range []How{Pass, End} {
				says(t, s.run(t, how == Pass, map[string]string{file: CheckOnly(file, s.files[file], all(how))}), false, how == End)
			}
		})
	}
}

// TestShellKeeps: a script that tells and looks prints and ends as it did, and no failure of it is told
// as its end (PROOF-3).
func TestShellKeeps(t *testing.T) {
	tier.First(t, "it runs shells")
	const fails, reads = "test 1 = 2\n", ". ./cases.sh\n"
	for name, s := range map[string][2]string{
		"the last statement":      {reads, fails},
		"a status, asked":         {reads + "echo $?\n", fails},
		"in braces":               {reads + "echo \"is ${?}\"\n", fails},
		"in a list":               {reads + "[ $? -eq 0 ] || exit 4\n", fails},
		"an exit that says none":  {reads + "exit\n", fails},
		"an exit at once":         {". ./cases.sh;exit $?\n", fails},
		"an exit first":           {"exit 3\n", ""},
		"a text in the same line": {"cat <<E; . ./cases.sh\nhello $?\nE\necho $?\n", fails},
		"a comment":               {". ./cases.sh # reads\necho $?\n", fails},
		"a list of -e":            {"set -eu\n[ -f none ] && . ./cases.sh\necho $?\n! . ./cases.sh\necho $?\nexit 5\n", "true\n"},
		"one that ends well":      {reads + "echo $?\n", "true\n"},
		"a function that reads":   {"all() { . ./cases.sh; }\nall\n", fails},
	} {
		t.Run(name, func(t *testing.T) {
			told, ok := CheckAtEnd("t.sh", s[0], all(Tell), func(string) bool { return true })
			if !ok {
				t.Fatal("it is not sure of it")
			}
			for _, shell := range []string{"sh", "dash", "bash"} {
				if _, err := exec.LookPath(shell); err != nil {
					continue
				}
				var outputs, said [2]string
				for i, text := range []string{s[0], told} {
					dir := t.TempDir()
					for file, text := range map[string]string{"t.sh": text, "cases.sh": s[1]} {
						if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
							t.Fatal(err)
						}
					}
					cmd := exec.Command(shell, "t.sh")
					cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir)
					out, err := cmd.CombinedOutput()
					outputs[i] = fmt.Sprintf("%s%v", out, err)
					what, _ := os.ReadFile(filepath.Join(dir, File("WORD")))
					said[i] = string(what)
				}
				ends, ran := Said("WORD", said[1])
				if fine := strings.HasSuffix(outputs[0], "<nil>"); outputs[0] != outputs[1] || ends[7] != fine || !ran[7] {
					t.Errorf("%s: %q became %q and said %q:\n%s", shell, outputs[0], outputs[1], said[1], told)
				}
			}
		})
	}
}

// TestUnsure: a program that may end in a way that was not found stays as it is.
func TestUnsure(t *testing.T) {
	for name, text := range map[string]string{
		"a.sh": "exec ./b\n", "b.sh": "trap 'exit 0' EXIT\n", "c.sh": ". ./lib.sh\nrun\n", "d.sh": "eval 'exit 0'\n", "g.sh": "command exit 0\n", "e.sh": "if\n", "f.sh": ". \"$lib\"\n",
		"a.py": "import os\nos._exit(0)\n", "b.py": "os.execv(a, b)\n", "c.py": "from sys import exit as bye\nbye(0)\n",
		"a.js": "process.reallyExit(0);\n",
		"a.c":  "int two(void) { return 2; }\n", "b.c": "int main(void) { _exit(0); }\n", "a.go": "package main\n\nfunc main() {}\n", "README.md": "exit\n",
	} {
		if changed, ok := CheckAtEnd(name, text, all(End), func(string) bool { return false }); ok {
			t.Errorf("%s became\n%s", name, changed)
		}
	}
}
