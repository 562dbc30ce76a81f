package sources

import (
	"path"
	"strings"
	"testing"
)

// tree is a tree of texts, which are their own ids.
func tree(texts map[string]string) (Tree, Blobs) {
	t := Tree{}
	for name, text := range texts {
		if to, ok := strings.CutPrefix(text, "-> "); ok {
			t[name] = "120000 " + to
		} else {
			t[name] = "100644 " + text
		}
	}
	return t, func(id string, limit int64) (string, bool) { return id, int64(len(id)) <= limit }
}

// TestIsTest: names of tests, and of what they are made with, in each language.
func TestIsTest(t *testing.T) {
	for name, want := range map[string]bool{
		"a_test.go": true, "pkg/testdata/x": true, "internal/assert/eq.go": true, "internal/calctest/x.go": true, "testing/x.py": true, "TESTS/a": true,
		"test_a.py": true, "conftest.py": true, "a.test.ts": true, "src/__tests__/a.js": true, "spec/a_spec.rb": true, "src/test/java/A.java": true,
		"src/AppTest.java": true, "check.sh": true, "helpers.py": true, "a.bats": true, "b/want.golden": true, "sub/__snapshots__/a.snap": true,
		"a.go": false, "src/lib.rs": false, "latest.go": true, "contest.py": true, // being wrong costs a word
		"attestation.go": false, "calc/app.py": false, "index.js": false, "Makefile": false, "README.md": false, "": false,
	} {
		if IsTest(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

// TestHasTests: tests that stand in a source.
func TestHasTests(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"src/a.rs", "#[cfg(test)]\nmod tests {}", true},
		{"src/a.rs", "#![cfg(all(unix, test))]", true},
		{"src/a.rs", "#[tokio::test]\nasync fn a() {}", true},
		{"src/a.rs", "/// ```\n/// assert!(true)\n", true},
		{"src/a.rs", "fn testimony() {}", false},
		{"a.py", "def two():\n    \"\"\"\n    >>> two()\n    2\n", true},
		{"a.py", "class T(unittest.TestCase):\n", true},
		{"a.py", "def two(): return 2\n", false},
		{"a.go", "package a\n\n//go:generate sh x\n", true},
		{"a.go", "package a\n", false},
		{"a.txt", ">>> x", false},
	} {
		if HasTests(c.name, c.text) != c.want {
			t.Errorf("%s %q: %v", c.name, c.text, !c.want)
		}
	}
}

// TestIsWork: what the manifests of a tree make its sources, and nothing else.
func TestIsWork(t *testing.T) {
	p := Read(tree(map[string]string{
		"go/go.mod": "module x", "go/a.go": "", "py/pyproject.toml": "[project]\nname = \"my-calc\"\n", "py/my_calc.py": "", "py/calc/__init__.py": "", "py/check.py": "",
		"old/setup.py": "setup(\n    name='inflection',\n    py_modules=['inflection'],\n)\n", "old/inflection.py": "", "old/test_inflection.py": "",
		"line/setup.py": "from setuptools import setup; setup(name=\"slug\", py_modules=[\"slug\"])\n", "line/slug.py": "",
		"var/setup.py": "check = 'x'\nsetup(\n    name=check,\n    ext_modules=[Extension(name='ext')],\n)\n", "var/check.py": "", "var/ext.py": "",
		"js/package.json": "{}", "js/lib/index.js": "", "js/data/cases.json": "", "rs/Cargo.toml": "", "top/Cargo.toml": "[lib]\npath = \"lib.rs\"\n[[bin]]\nname = \"x\"\npath = \"../x.rs\"\n[[bin]]\nname = \"y\"\npath = \"none.rs\"\n", "top/lib.rs": "", "x.rs": "", "c/Makefile": "", "vendor/x/go.mod": "", "tests/go.mod": "", "odd[1]/go.mod": "",
	}))
	for name, want := range map[string]bool{
		"go/a.go": true, "go/in/b.go": true, "a.go": false, "go/a.txt": false, "go/tools/x.go": false, "go/.x/a.go": false, "go/vendor/a.go": false,
		"py/my_calc.py": true, "py/calc/new.py": true, "py/calc/sub/new.py": true, "py/unittest.py": false, "py/check.py": false, "py/other/__init__.py": false, "py/src/a/b.py": true,
		"py/calc/data.txt": false, "py/setup.py": false,
		"old/inflection.py": true, "old/other.py": false, "line/slug.py": true, "var/check.py": false, "var/ext.py": false,
		"js/index.js": true, "js/a.ts": true, "js/jest.config.js": false, "js/lib.js": false, "js/data/cases.js": false, "js/data/more.js": true, "js/node_modules/a/index.js": false,
		"rs/src/lib.rs": true, "rs/build.rs": false, "top/lib.rs": true, "top/other.rs": false, "top/none.rs": false, "x.rs": true, "c/a.c": true, "c/a.h": false, "c/Makefile": false, "vendor/x/a.go": false, "tests/a.go": false, "odd[1]/a.go": false,
	} {
		if p.IsWork(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	if none := Read(Tree{}, nil); none.IsWork("a.go") {
		t.Error("without a manifest something is work")
	}
}

// TestNamed: what command lines name.
func TestNamed(t *testing.T) {
	const both = "tools/check.py calc/checks.py lib/x.js cmd/app/main.go cmd/app/more.go pkg/a.go real/it.sh"
	p := Read(tree(map[string]string{
		"package.json": `{"scripts":{"test":"node lib/x"}}`, "cmd/app/main.go": "package main\n", "pkg/a.go": "package pkg\n", "link": "-> real",
	}))
	for line, want := range map[string]string{
		"true":                            "lib/x.js",
		"cd tools && python3 check.py":    "tools/check.py lib/x.js",
		"python3 -m unittest calc.checks": "calc/checks.py lib/x.js",
		"python3 -m pytest 'calc/checks.py::T::test_a'": "calc/checks.py lib/x.js",
		"wrap --any=./tools/check.py":                   "tools/check.py lib/x.js",
		"sh $DIR/check.py":                              "tools/check.py lib/x.js",
		"sh tools/ch*.py":                               "tools/check.py lib/x.js",
		"go run ./cmd/app -x":                           "lib/x.js cmd/app/main.go cmd/app/more.go",
		"go run example.org/x/cmd/app":                  "lib/x.js cmd/app/main.go cmd/app/more.go",
		"go test ./pkg/... ./...":                       "lib/x.js",
		"sh link/it.sh":                                 "lib/x.js real/it.sh",
		"test \"$(cat answer)\" = 42":                   "lib/x.js",
	} {
		n := p.Named([]string{line})
		var got []string
		for name := range strings.FieldsSeq(both) {
			if n.Has(name) {
				got = append(got, name)
			}
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %s, want %s", line, text, want)
		}
	}
}

// FuzzNamed: no line and no name brings it down.
func FuzzNamed(f *testing.F) {
	f.Add("sh ${X}/{a,b}*[", "a/b[.go")
	f.Add("$", "x")
	p := Read(tree(map[string]string{"go.mod": "", "a/b.go": "package main", "l": "-> l"}))
	f.Fuzz(func(_ *testing.T, line, name string) {
		p.Named([]string{line}).Has(name)
		IsTest(name)
		p.IsWork(name)
	})
}

// TestHides: what hides another is found by the tree's index as by a look at each of its paths.
func TestHides(t *testing.T) {
	tree := Tree{}
	for _, name := range []string{"pyproject.toml", "pkg/a.py", "pkg/b/x.py", "pkg/c.PY", "pkg/d.go", "pkg/e", "pkg/f.js", "top.py", "deep/er/and/z.rb"} {
		tree[name] = "100644 a"
	}
	p := Read(tree, func(string, int64) (string, bool) { return "", true })
	slow := func(name string) bool {
		l := of(name)
		if l == nil || !l.bare || tree[name] != "" {
			return false
		}
		stem := strings.TrimSuffix(name, path.Ext(name))
		for other := range tree {
			if strings.HasPrefix(other, stem+"/") || strings.TrimSuffix(other, path.Ext(other)) == stem {
				return true
			}
		}
		return false
	}
	hidden := 0
	for _, dir := range []string{"", "pkg/", "pkg/b/", "deep/", "deep/er/"} {
		for _, stem := range []string{"a", "b", "c", "d", "e", "f", "pkg", "top", "er", "and", "deep", "new"} {
			for _, ext := range []string{"", ".py", ".pyi", ".PY", ".js", ".ts", ".rb", ".go", ".txt"} {
				name := dir + stem + ext
				if got, want := p.hides(name), slow(name); got != want {
					t.Errorf("%s: %v, want %v", name, got, want)
				} else if got {
					hidden++
				}
			}
		}
	}
	if hidden < 20 {
		t.Errorf("only %d names hide another", hidden)
	}
}
