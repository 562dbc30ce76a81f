package verifier

import (
	"slices"
	"testing"

	"git-ward/internal/tier"
	"git-ward/protocols/loop"
)

// TestVendored: a dependency that the work vendors, and that the PM takes in, is not doubted for what
// comes with it: a manifest, a list of modules, helpers that are called tests. One that ends the
// process that loads it is (PROOF-3).
func TestVendored(t *testing.T) {
	const (
		useGo = "package calc\n\nimport \"example.org/in\"\n\nfunc Two() int { return in.Two() }\n"
		inGo  = "package in\n\nfunc Two() int { return 2 }\n"
		exits = "package in\n\nimport \"os\"\n\nfunc init() { os.Exit(0) }\n\nfunc Two() int { return 3 }\n"
		shows = "package main\n\nimport (\n\t\"fmt\"\n\n\tcalc \"example.org/calc\"\n)\n\nfunc main() { fmt.Println(calc.Two()) }\n"
		asks  = "package main\n\nimport (\n\t\"os\"\n\n\tcalc \"example.org/calc\"\n)\n\nfunc main() {\n\tif calc.Two() != 2 {\n\t\tos.Exit(1)\n\t}\n}\n"
		flags = "export GOFLAGS=-mod=vendor; "
	)
	goMain := files{"go.mod": goMod, "calc.go": badGo, "calc_test.go": testGo, "cmd/calc/main.go": shows, "cmd/asks/main.go": asks}
	vendors := func(in string) files {
		return files{"go.mod": goMod + "\nrequire example.org/in v1.0.0\n", "calc.go": useGo, "vendor/modules.txt": "# example.org/in v1.0.0\n## explicit; go 1.21\nexample.org/in\n", "vendor/example.org/in/in.go": in}
	}
	jsMain := files{"package.json": `{"name":"calc"}`, "calc.js": badJS, "test/calc.test.js": nodeJS}
	jsIn := files{"calc.js": "exports.two = require('in').two;\n", "node_modules/in/index.js": "exports.two = require('./test').test(() => 2);\n", "node_modules/in/package.json": `{"name":"in"}`,
		"node_modules/in/test.js": "exports.test = function test (f) { return f; };\n"}
	pyMain := files{"pyproject.toml": "[project]\nname = \"calc\"\n", "calc/__init__.py": badPy, "calc/__main__.py": "from calc import two\n\nprint(two())\n"}
	pyIn := files{"calc/__init__.py": "from vendor.within.testing import two\n", "vendor/within/testing.py": "import unittest\n\n\ndef two():\n    return 2\n\n\nclass Base(unittest.TestCase):\n    pass\n"}
	for name, c := range map[string]trial{
		"go: tests":              {"go", goMain, vendors(inGo), flags + "go test ./...", loop.ControlFails, nil, true},
		"go: a program":          {"go", goMain, vendors(inGo), flags + "test \"$(go run ./cmd/calc)\" = 2", loop.ControlNotApplicable, nil, true},
		"go: a program, exits":   {"go", goMain, vendors(exits), flags + "go run ./cmd/asks", loop.ControlNotTried, nil, true},
		"node: tests":            {"node", jsMain, jsIn, "node --test test", loop.ControlFails, nil, true},
		"node: a program":        {"node", jsMain, jsIn, "test \"$(node -p \"require(process.cwd() + \\\"/calc.js\\\").two()\")\" = 2", loop.ControlNotApplicable, nil, true},
		"python: a program":      {"python3", pyMain, pyIn, "test \"$(python3 -m calc)\" = 2", loop.ControlNotApplicable, nil, true},
		"awk: what is no source": {"awk", files{"calc.awk": "function two() { return 3 }\n", "want.awk": "BEGIN { exit two() != 2 }\n"}, files{"calc.awk": "BEGIN { exit 0 }\nfunction two() { return 3 }\nEND { exit 0 }\n"}, "awk -f calc.awk -f want.awk", loop.ControlNotTried, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			tier.First(t, "it runs many commands")
			t.Parallel()
			f := c.judge(t, "")
			if want := []Control{{"criterion 1", false, c.want}}; !f.OK() || !slices.Equal(f.Controls, want) {
				t.Errorf("%v, not %v; left %s, %s", f.Controls, want, list(f), ends(f.Replays[0]))
			}
		})
	}
}
