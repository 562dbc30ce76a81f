package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fullTests are the tests that only the full tier runs, as `directory TestName`. It reads
// them from the syntax tree, and scripts/test from the text.
func fullTests(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	goFiles(t, func(path string, text []byte) {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok || sel.Sel.Name != "Full" {
					return true
				}
				if from, ok := sel.X.(*ast.Ident); ok && from.Name == "tier" {
					if !strings.HasPrefix(f.Name.Name, "Test") && !strings.HasPrefix(f.Name.Name, "Fuzz") {
						t.Errorf("%s: %s calls tier.Full, and is no test: scripts/test finds tests of the full tier by their own text", set.Position(n.Pos()), f.Name.Name)
					}
					all[filepath.Dir(path)+" "+f.Name.Name] = true
				}
				return true
			})
		}
	})
	return all
}

// TestTiers: scripts/test full runs exactly the tests whose code leaves them to it, and
// the first tier keeps an attack of each class of the threat model (TEST-1).
func TestTiers(t *testing.T) {
	full := fullTests(t)
	listed := map[string]bool{}
	out, err := exec.Command("scripts/test", "full", "--list").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		listed[strings.TrimSpace(line)] = true
	}
	for name := range full {
		if !listed[name] {
			t.Errorf("scripts/test full does not run %s", name)
		}
	}
	for name := range listed {
		if !full[name] {
			t.Errorf("scripts/test full runs %s, which does not call tier.Full", name)
		}
	}

	data, err := os.ReadFile("docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	_, promises, _ := strings.Cut(string(data), "\n## What is promised\n")
	promises, _, _ = strings.Cut(promises, "\n## What is not promised\n")
	classes := strings.Split(promises, "\n### ")[1:]
	for _, class := range classes {
		title, rows, _ := strings.Cut(class, "\n")
		names := backticked.FindAllStringSubmatch(rows, -1)
		if !slices.ContainsFunc(names, func(name []string) bool { return hasTest(t, name[1]) && !full[name[1]] }) {
			t.Errorf("the first tier has no attack of the class %q", title)
		}
	}
	if len(classes) < 5 {
		t.Errorf("only %d classes were found", len(classes))
	}
}
