package symbols

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPython: definitions at any depth, and nothing of strings, comments and brackets.
func TestPython(t *testing.T) {
	for source, want := range map[string]string{
		"class K(Base,\n  meta=M):\n    LIMIT = 1\n    size: int\n    @property\n    def m(self): pass\n    class In:\n        async def n(self,\n a=(1,\n2)): x = 1\n\ndef f():\n    def g(): pass\n    y = 2\nZ = f\n": "1 type K, 3 var K.LIMIT, 4 var K.size, 6 method K.m, 7 type K.In, 8 method K.In.n, 12 func f, 13 func f.g, 15 var Z",
		"\"\"\"doc\ndef no(): pass\n\"\"\"\nX = '''\nclass No:\n''' ; Y = 1\ndef yes(): pass\n":                                                                                                                          "4 var X, 6 var Y, 7 func yes",
		"if True:\n    def a(): pass\nelse:\n    def b(): pass\ntry:\n  import x\nexcept E: pass\nfor i in j: pass\n":                                                                                                    "2 func a, 4 func b",
		"def f[T](x): pass\nclass C[T]: pass\ntype A[T] = list[T]\na, b = c = 1, 2\na.b = 1\na[1] = 2\nif x == 1: y = 2\nn: int = 3\nlambda: 0\n":                                                                        "1 func f, 2 type C, 3 type A, 4 var a, 4 var b, 4 var c, 8 var n",
		"x = f\"{d[\"k\"]} {v!r:'>10} {{ {w:{n}}\"\ndef g(): pass\ny = rb'\\'\ndef h(): pass\n":                                                                                                                          "1 var x, 2 func g, 3 var y, 4 func h",
		"s = 'not closed\ndef g(): pass\nt = a \\\n  == 1\ndef größe(): pass\n":                                                                                                                                          "1 var s, 2 func g, 3 var t, 5 func größe",
		"\ufeffdef bom(): pass\r\n\tdef tab(): pass\r\ndef end(): pass":                                                                                                                                                  "1 func bom, 2 func bom.tab, 3 func end",
		"from . import a, b as c\nfrom .x import y\nfrom p.q import (r,\n  s)\nimport m.n as o, k\nfrom .. import (z)\n":                                                                                                 "-> .a .b .x p.q m.n k ..z",
	} {
		f := Read("x.py", []byte(source))
		var got []string
		for _, s := range f.Symbols {
			got = append(got, fmt.Sprintf("%d %s %s", s.Line, s.Kind, s.Name))
		}
		text := strings.Join(got, ", ")
		if len(f.Symbols) == 0 {
			text = "-> " + strings.Join(f.Needs, " ")
		}
		if text != want {
			t.Errorf("%q:\n got %s\nwant %s", source, text, want)
		}
	}
}

// walked prints the definitions of the files on stdin, as Python's own parser has them.
const walked = `import ast, sys, warnings
warnings.simplefilter("ignore")
for p in sys.stdin.read().split("\n"):
    try: tree = ast.parse(open(p, "rb").read())
    except Exception: continue
    print(p)
    for n in ast.walk(tree):
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)): print("  " + n.name)
`

// TestPythonAsPython: each definition of Python's own library is found, and nothing else,
// as its parser has them. WARD_PYTHON names another directory.
func TestPythonAsPython(t *testing.T) {
	if testing.Short() {
		t.Skip("reads all of Python's library")
	}
	out, err := exec.Command("python3", "-c", "import ast, os; print(os.path.dirname(ast.__file__))").Output()
	if err != nil {
		t.Skip("SKIPPED: there is no python3 here")
	}
	dir := strings.TrimSpace(string(out))
	if other := os.Getenv("WARD_PYTHON"); other != "" {
		dir = other
	}
	want, total := definitions(t, dir)
	wrong := 0
	for p, names := range want {
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		f := Read("x.py", data)
		for _, s := range f.Symbols {
			if s.Kind == "func" || s.Kind == "method" || s.Kind == "type" {
				names[s.Name[strings.LastIndexByte(s.Name, '.')+1:]]--
			}
		}
		for name, n := range names {
			if n != 0 && name != "_" && f.Trouble == "" {
				if wrong++; wrong < 20 {
					t.Errorf("%s: %s: %+d", p, name, n)
				}
			}
		}
	}
	t.Logf("%d definitions in %d files, %d names wrong", total, len(want), wrong)
	if total < 1_000 && os.Getenv("WARD_PYTHON") == "" {
		t.Errorf("only %d definitions were compared", total)
	}
}

// definitions counts the names that each file below a directory defines.
func definitions(t *testing.T, dir string) (byFile map[string]map[string]int, total int) {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(p, ".py") && len(paths) < 200 {
			paths = append(paths, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", "-c", walked)
	cmd.Stdin = strings.NewReader(strings.Join(paths, "\n"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	byFile = map[string]map[string]int{}
	file := ""
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\n")
		if name, ok := strings.CutPrefix(line, "  "); ok {
			byFile[file][name]++
			total++
			continue
		}
		file, byFile[line] = line, map[string]int{}
	}
	return byFile, total
}
