package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// removers are the functions beside internal/scratch that remove a tree whose name is not
// written in their own text, each by an os.Root, and why it is theirs.
var removers = map[string]string{
	"agent/preset/preset.go makeAnew":                        "below the agent's state, which Ward marked: a home of the last run",
	"agent/program/ask.go listen":                            "below the agent's state: what the agent has in a question's place",
	"agent/store/clone.go removeAll":                         "below the agent's state: its clones",
	"agent/store/shown.go place":                             "below a clone of the agent's: what a model left in the place of a paper",
	"bootstrap/trees/trees.go Remove":                        "below the agent's state, which Ward marked, with the agent's rights",
	"bootstrap/watcher.go removeSignal":                      "in the directory of signals, with the agent's rights",
	"sandbox/verifier/cache/script.go outside of a function": "in a container of its own, a constant",
	"bootstrap/signals/remove.go removeBelow":                "in the directory of signals, which the watcher made, and in which only signals count",
	"hooks/install/remove_ward.go removeFiles":               "in ward/, which no init takes that found it with something in it; the admin has said --yes",
	"internal/growth/disk.go discard":                        "a quarantine of git's in which nothing moved for longer than a push lasts",
}

// shellRemoves is a text by which a program removes what it is told.
var shellRemoves = regexp.MustCompile(`^-(rf|fr)$|rm -[rf]+( --)? ("?\$|$)`)

// TestScratch: what Ward removes, it made. Trees are removed by internal/scratch, which
// proves that; elsewhere by an os.Root alone, and by a name that stands in the same
// function, or by a function of the list. In no other way: not by another name for it
// either, nor by a shell.
func TestScratch(t *testing.T) {
	seen := map[string]bool{}
	goFiles(t, func(path string, text []byte) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "internal/scratch/") {
			return
		}
		for at, why := range removals(t, path, string(text)) {
			if key := path + " " + at; why == "" || removers[key] == "" {
				t.Errorf("%s: %s: let internal/scratch make and remove it", key, why)
			} else {
				seen[key] = true
			}
		}
	})
	for key := range removers {
		if !seen[key] {
			t.Errorf("%s is in the list, and removes nothing", key)
		}
	}
}

// removals are the functions of a file that remove trees by names that are not their own,
// with how they do it.
func removals(t *testing.T, path, text string) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, decl := range file.Decls {
		at := "outside of a function"
		if f, ok := decl.(*ast.FuncDecl); ok {
			at = f.Name.Name
		}
		called := map[ast.Expr]*ast.CallExpr{}
		literal := map[string]bool{} // loops over names that are written here
		ast.Inspect(decl, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				called[n.Fun] = n
			case *ast.RangeStmt:
				if of, ok := n.X.(*ast.CompositeLit); ok && n.Value != nil && !slices.ContainsFunc(of.Elts, func(e ast.Expr) bool { _, ok := e.(*ast.BasicLit); return !ok }) {
					literal[n.Value.(*ast.Ident).Name] = true
				}
			case *ast.BasicLit:
				if shellRemoves.MatchString(strings.Trim(n.Value, "`\"")) {
					found[at] = "a shell's rm -r"
				}
			case *ast.SelectorExpr:
				if n.Sel.Name != "RemoveAll" {
					return true
				}
				call, isCall := called[n]
				of, _ := n.X.(*ast.Ident)
				switch {
				case of != nil && of.Name == "os", !isCall || len(call.Args) != 1:
					found[at] = "os.RemoveAll follows whatever a path has become"
				case !written(call.Args[0], literal):
					found[at] = "it removes a tree by a name that it was told"
				}
			}
			return true
		})
	}
	return found
}

// written reports whether an argument is a text of the function's own, a constant, whose
// names are exported or the file's, or a loop's over texts.
func written(arg ast.Expr, literal map[string]bool) bool {
	switch arg := arg.(type) {
	case *ast.BasicLit:
		return true
	case *ast.Ident:
		return literal[arg.Name] || arg.Obj != nil && arg.Obj.Kind == ast.Con
	}
	return false
}

// TestRemovals: each way round the rule is seen.
func TestRemovals(t *testing.T) {
	for body, want := range map[string]bool{
		`os.RemoveAll(dir)`:                                          true,
		`os.RemoveAll("a")`:                                          true,
		`f := os.RemoveAll; f(dir)`:                                  true,
		`g(os.RemoveAll)`:                                            true,
		`root.RemoveAll(name)`:                                       true,
		`root.RemoveAll(entry.Name())`:                               true,
		`exec.Command("rm", "-rf", dir)`:                             true,
		`exec.Command("sh", "-c", "rm -rf " + dir)`:                  true,
		`f := root.RemoveAll; f(name)`:                               true,
		`for _, n := range names { root.RemoveAll(n) }`:              true,
		`for _, n := range []string{x} { root.RemoveAll(n) }`:        true,
		`for _, n := range []string{"a", "b"} { root.RemoveAll(n) }`: false,
		`root.RemoveAll("logs")`:                                     false,
		`root.RemoveAll(here)`:                                       false,
		`os.Remove(path)`:                                            false,
	} {
		found := removals(t, "x.go", "package x\nconst here = \"a\"\nfunc f() { "+body+" }\n")
		if (len(found) > 0) != want {
			t.Errorf("%s: %v", body, slices.Sorted(maps.Keys(found)))
		}
	}
}
