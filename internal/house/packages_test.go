package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestEveryPackageSaysItsJob(t *testing.T) {
	for _, p := range packages(t) {
		if p.Doc == "" {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
		if slices.Contains([]string{"util", "utils", "common", "types", "helper", "helpers", "manager", "misc"}, path.Base(p.ImportPath)) {
			t.Errorf("%s: that name says no job", p.ImportPath)
		}
	}
}

// TestTestsStandBeside: each package has tests in its own directory. A program of one
// line has nothing to test.
func TestTestsStandBeside(t *testing.T) {
	for _, p := range packages(t) {
		if !tested(t, p) && !oneLine(t, p) && !slices.Contains(untestedYet, p.ImportPath) {
			t.Errorf("%s has no tests beside it", p.ImportPath)
		}
	}
}

// tested reports whether a package's test files have a test; TestMain is none.
func tested(t *testing.T, p goPackage) bool {
	t.Helper()
	for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
		for _, d := range parse(t, filepath.Join(p.Dir, name)).Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && f.Recv == nil && f.Name.Name != "TestMain" && (strings.HasPrefix(f.Name.Name, "Test") || strings.HasPrefix(f.Name.Name, "Fuzz")) {
				return true
			}
		}
	}
	return false
}

// oneLine reports whether a package is a program whose only function is a main of one
// statement.
func oneLine(t *testing.T, p goPackage) bool {
	t.Helper()
	if p.Name != "main" {
		return false
	}
	for _, name := range p.GoFiles {
		for _, d := range parse(t, filepath.Join(p.Dir, name)).Decls {
			if f, ok := d.(*ast.FuncDecl); ok && (f.Name.Name != "main" || len(f.Body.List) > 1) {
				return false
			}
		}
	}
	return true
}

func parse(t *testing.T, file string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// pure are the packages beside protocols, vm and internal/diag that they may import:
// none of them reaches git, a clock, the network or the operating system. Of time there
// is what does not read the clock.
var pure = []string{
	"bytes", "cmp", "container/heap", "context", "crypto/sha256", "embed", "encoding/binary", "encoding/hex", "encoding/json", "errors", "fmt",
	"go/ast", "go/parser", "go/token", "io/fs", "iter", "maps", "math", "math/big", "path", "reflect", "regexp", "regexp/syntax", "slices", "strconv",
	"strings", "sync", "time", "unicode", "unicode/utf8",
	"github.com/BurntSushi/toml", "github.com/go-json-experiment/json", "github.com/go-json-experiment/json/jsontext",
	"mvdan.cc/sh/v3/syntax",
}

// clock are the functions of package time that read or wait for the clock.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// TestProtocolsAndVMArePure: no git, no clock, no network, no operating system in what
// judges documents and runs machines; their verbs are apart.
func TestProtocolsAndVMArePure(t *testing.T) {
	for _, p := range packages(t) {
		if r := room(p.ImportPath); r != "protocols" && r != "vm" || verbs(p.ImportPath) {
			continue
		}
		for _, to := range imports(t, p) {
			if !strings.HasPrefix(to, module+"/") && !slices.Contains(pure, to) {
				t.Errorf("%s imports %s, which is not among the packages that are known to be pure", p.ImportPath, to)
			}
		}
		for _, name := range slices.Concat(p.GoFiles, p.IgnoredGoFiles) {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			for _, call := range clocks(parse(t, filepath.Join(p.Dir, name))) {
				if !slices.Contains(impureYet, p.ImportPath+" "+call) {
					t.Errorf("%s/%s: %s: take the time as an argument", strings.TrimPrefix(p.ImportPath, module+"/"), name, call)
				}
			}
		}
	}
}

// clocks are the uses of the clock in a file, by the name under which it imports time.
func clocks(file *ast.File) (all []string) {
	name := ""
	for _, spec := range file.Imports {
		if spec.Path.Value != `"time"` {
			continue
		}
		if name = "time"; spec.Name != nil {
			name = spec.Name.Name
		}
	}
	if name == "." {
		return []string{"import . time"}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == name && slices.Contains(clock, s.Sel.Name) {
				all = append(all, "time."+s.Sel.Name)
			}
		}
		return true
	})
	return all
}

// TestClocks: the clock is found under whatever name.
func TestClocks(t *testing.T) {
	for text, want := range map[string]string{
		"import \"time\"\nvar x = time.Now()":             "time.Now",
		"import clock \"time\"\nvar x = clock.Since":      "time.Since",
		"import . \"time\"\nvar x = Now()":                "import . time",
		"import \"time\"\nvar x = 3 * time.Second":        "",
		"type clock struct{}\nvar time struct{ Now int }": "",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(clocks(file), " "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
