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
		if len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 && !oneLine(t, p) && !slices.Contains(untestedYet, p.ImportPath) {
			t.Errorf("%s has no tests beside it", p.ImportPath)
		}
	}
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

// outside are packages through which a pure function would reach the world.
var outside = []string{"os", "os/exec", "os/signal", "os/user", "net", "net/http", "syscall", "math/rand", "math/rand/v2", "crypto/rand",
	"golang.org/x/sys/unix", "path/filepath", "io/ioutil"}

// clock are the functions of package time that read or wait for the clock.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// TestProtocolsAndVMArePure: no git, no clock, no network, no operating system in what
// judges documents and runs machines; their verbs are apart.
func TestProtocolsAndVMArePure(t *testing.T) {
	for _, p := range packages(t) {
		if r := room(p.ImportPath); r != "protocols" && r != "vm" || verbs(p.ImportPath) {
			continue
		}
		for _, to := range p.Imports {
			if slices.Contains(outside, to) && !slices.Contains(impureYet, p.ImportPath+" "+to) {
				t.Errorf("%s imports %s", p.ImportPath, to)
			}
		}
		for _, name := range p.GoFiles {
			if !slices.Contains(p.Imports, "time") {
				break
			}
			ast.Inspect(parse(t, filepath.Join(p.Dir, name)), func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clock, s.Sel.Name) && !slices.Contains(impureYet, p.ImportPath+" time."+s.Sel.Name) {
						t.Errorf("%s/%s calls time.%s: take the time as an argument", strings.TrimPrefix(p.ImportPath, module+"/"), name, s.Sel.Name)
					}
				}
				return true
			})
		}
	}
}
