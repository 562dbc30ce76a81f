package symbols

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// tree is one small file of each language.
var tree = map[string]string{
	"go.mod":              "module example.org/x // a comment\n\ngo 1.26\n",
	"tools/go.mod":        "module example.org/x/tools\n",
	"main.go":             "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.org/x/a\"\n\tt \"example.org/x/tools/t\"\n)\n\nconst _, C = 1, 2\n\ntype T[P any] struct{}\n\nfunc (t *T[P]) M() {}\n\nfunc main() { func() { type inner int }() }\n",
	"a/broken.go":         "package a\n\nfunc Good() {}\n\nfunc (\n",
	"pkg/mod.py":          "import os.path\nfrom .other import x\nfrom pkg.sub import y\n\nLIMIT = 1\nclass K:\n    def method(self): pass\nasync def run(): pass\n",
	"pkg/other.py":        "",
	"pkg/sub/__init__.py": "",
	"web/app.ts":          "import { a } from './lib'\nimport 'left-pad'\nconst x = require(\"../web/lib\")\nexport default async function go() {}\nexport const n = 1\nexport interface I {}\n",
	"web/lib.js":          "class C {}\n",
	"run.sh":              ". ./env.sh\nsource \"$HERE/other.sh\"\nbuild() {\n\tinner() { :; }\n}\nfunction clean-up () { :; }\n",
	"env.sh":              "",
	"src/x.c":             "#include \"x.h\"\n#include <stdio.h>\n#define MAX 3\nstatic int twice(int n)\n{\n\treturn 2 * n;\n}\nint declared(void);\nstruct s { int a; };\n",
	"src/x.h":             "",
	"lib.rs":              "use std::fs;\npub(crate) async fn f() {}\npub struct S;\nconst K: u8 = 1;\n",
	"A.java":              "import java.util.List;\npublic final class A {}\n",
	"README.md":           "# x",
	"data":                "x",
	"notes/more.md":       "y",
}

// read is Read of what Wants has.
func read(p string, data []byte) *File {
	if !Wants(p) {
		return nil
	}
	return Read(p, data)
}

func build() (*Symbols, *Graph) {
	var paths []string
	for p := range tree {
		paths = append(paths, p)
	}
	b := NewBuilder(paths)
	for p, data := range tree { // in any order
		b.Put(p, read(p, []byte(data)))
	}
	return b.Build()
}

func TestBuild(t *testing.T) {
	s, g := build()
	var got []string
	for _, x := range s.Symbols {
		got = append(got, fmt.Sprintf("%s:%d %s %s", x.File, x.Line, x.Kind, x.Name))
	}
	want := strings.Split(`A.java:2 type A
a/broken.go:3 func Good
lib.rs:2 func f
lib.rs:3 type S
lib.rs:4 var K
main.go:10 const C
main.go:12 type T
main.go:14 method T.M
main.go:16 func main
pkg/mod.py:5 var LIMIT
pkg/mod.py:6 type K
pkg/mod.py:7 method K.method
pkg/mod.py:8 func run
run.sh:3 func build
run.sh:4 func inner
run.sh:6 func clean-up
src/x.c:3 var MAX
src/x.c:4 func twice
src/x.c:9 type s
web/app.ts:3 var x
web/app.ts:4 func go
web/app.ts:5 var n
web/app.ts:6 type I
web/lib.js:1 type C`, "\n")
	if !slices.Equal(got, want) {
		t.Errorf("symbols:\n%s", strings.Join(got, "\n"))
	}
	got = nil
	for _, e := range g.Edges {
		got = append(got, fmt.Sprintf("%s -> %s [%s]", e.From, e.To, e.Local))
	}
	want = strings.Split(`A.java -> java.util.List []
lib.rs -> std::fs []
main.go -> example.org/x/a [a]
main.go -> example.org/x/tools/t [tools/t]
main.go -> fmt []
pkg/mod.py -> .other [pkg/other.py]
pkg/mod.py -> os.path []
pkg/mod.py -> pkg.sub [pkg/sub/__init__.py]
run.sh -> ./env.sh [env.sh]
src/x.c -> stdio.h []
src/x.c -> x.h [src/x.h]
web/app.ts -> ../web/lib [web/lib.js]
web/app.ts -> ./lib [web/lib.js]
web/app.ts -> left-pad []`, "\n")
	if !slices.Equal(got, want) {
		t.Errorf("edges:\n%s", strings.Join(got, "\n"))
	}
	c := s.Coverage
	if fmt.Sprint(c.Unread) != "map[:1 .md:2]" || len(c.Languages) != 7 || len(c.Skipped) != 1 || c.Skipped[0].File != "a/broken.go" || c.Cut {
		t.Errorf("%+v", c)
	}
	for range 3 {
		if again, g2 := build(); fmt.Sprint(again, g2) != fmt.Sprint(s, g) {
			t.Error("not a function of its files")
		}
	}
}

func TestLimits(t *testing.T) {
	b := NewBuilder(nil)
	b.Put("big.go", read("big.go", make([]byte, MaxFile+1)))
	b.Put("many.py", read("many.py", []byte(strings.Repeat("X=1\n", MaxSymbols/4))))
	for i := range 5 {
		b.Put(fmt.Sprintf("m%d.py", i), read(fmt.Sprintf("m%d.py", i), []byte(strings.Repeat("X=1\n", MaxSymbols/4))))
	}
	s, _ := b.Build()
	if len(s.Symbols) != MaxSymbols || !s.Coverage.Cut || len(s.Coverage.Skipped) != 1 {
		t.Errorf("%d symbols, %+v", len(s.Symbols), s.Coverage)
	}
}

// FuzzAdd: whatever a file holds, its symbols stand on its lines.
func FuzzAdd(f *testing.F) {
	for p, data := range tree {
		f.Add(p, []byte(data))
	}
	f.Fuzz(func(t *testing.T, p string, data []byte) {
		b := NewBuilder([]string{p})
		b.Put(p, read(p, data))
		s, g := b.Build()
		for _, x := range s.Symbols {
			if x.Name == "" || x.Line < 1 || x.Line > 1+strings.Count(string(data), "\n") || x.File != p {
				t.Fatalf("%+v", x)
			}
		}
		for _, e := range g.Edges {
			if e.From != p {
				t.Fatalf("%+v", e)
			}
		}
	})
}

// TestBytes: names in git and in sources are bytes; what is said of them is text.
func TestBytes(t *testing.T) {
	paths := map[string]string{"a\xff.go": "package a\nfunc F() {}\n", "b.\xff": "", "c.js": "import \"./\xff\"\n", "\xff": "", "d.go": "package d\nimport \"\\xff\"\nfunc G() {}\n"}
	b := NewBuilder(slices.Collect(maps.Keys(paths)))
	for p, data := range paths {
		b.Put(p, read(p, []byte(data)))
	}
	s, g := b.Build()
	if _, err := json.Marshal([]any{s, g}); err != nil {
		t.Error(err)
	}
	if len(s.Symbols) != 1 || s.Symbols[0].Name != "G" || len(s.Coverage.Skipped) < 3 || s.Coverage.Skipped[0].File != "a\ufffd.go" {
		t.Errorf("%+v", s)
	}
}
