package diag

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/gittest"
)

// raw are the places that may take an Untrusted as it was written, with the reason.
// None of them prints.
var raw = map[string]string{
	"git-ward/internal/diag":        "the type's own methods",
	"git-ward/protocols/loop":       "the goal goes to the model and into hashes",
	"git-ward/protocols/comms":      "a PM's draft is written as it was read, and an editor shows it",
	"git-ward/protocols/review":     "holds paths and texts against patterns",
	"git-ward/protocols/lesson":     "parses and writes the file of lessons",
	"git-ward/protocols/command":    "SARIF and JUnit have paths as git has them; what writes them escapes them",
	"git-ward/hooks/view":           "holds names of the audit against a filter",
	"git-ward/hooks/view/site":      "splits a difference and a report, and cleans each part",
	"git-ward/sandbox/notify":       "bounds a message's words before they are cleaned",
	"git-ward/sandbox/forge/client": "takes a forge's mark of a draft off a title",
	"git-ward/hooks/checks":         "compares a lesson's line with its replay, byte for byte",
	"git-ward/agent/correct":        "writes the file of lessons",
	"git-ward/agent/mcp":            "answers in JSON to a program, which the model reads",
	"git-ward/protocols/forge":      "cuts issues, comments and paths to size before it cleans them, and holds an issue to the grammar of COMMS.md",
	"git-ward/sandbox/forge":        "compares what was posted with what is there",
}

// TestNobodyTakesTextRaw: in the whole module an Untrusted becomes a plain string by
// its methods only, and Raw is called only where raw says why. fmt is no way round:
// Format cleans for every verb.
func TestNobodyTakesTextRaw(t *testing.T) {
	packages, exports := listModule(t)
	files := token.NewFileSet()
	imports := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, errors.New("no export data of " + path)
		}
		return os.Open(exports[path])
	})
	conversions, calls := 0, map[string]bool{}
	for _, p := range packages {
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, f)
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
		if _, err := (&types.Config{Importer: imports}).Check(p.ImportPath, files, parsed, info); err != nil {
			t.Fatal(p.ImportPath, err)
		}
		for _, f := range parsed {
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if selector, ok := call.Fun.(*ast.SelectorExpr); ok && selector.Sel.Name == "Raw" && untrusted(info.Types[selector.X].Type) {
					calls[p.ImportPath] = true
					if raw[p.ImportPath] == "" {
						t.Errorf("%s: Raw is called in a package that has no reason to", files.Position(call.Pos()))
					}
				}
				if info.Types[call.Fun].IsType() && len(call.Args) == 1 && untrusted(info.Types[call.Args[0]].Type) && !untrusted(info.Types[call.Fun].Type) {
					conversions++
					if p.ImportPath != "git-ward/internal/diag" {
						t.Errorf("%s: untrusted text is converted to %s: print it as it is, or use Raw", files.Position(call.Pos()), info.Types[call.Fun].Type)
					}
				}
				return true
			})
		}
	}
	if conversions == 0 || len(calls) == 0 {
		t.Error("the search finds nothing, not even what is there")
	}
	for path := range raw {
		if !calls[path] && path != "git-ward/internal/diag" {
			t.Errorf("%s does not call Raw any more: take it off the list", path)
		}
	}
}

func untrusted(t types.Type) bool {
	named, ok := t.(*types.Named)
	return ok && named.Obj().Name() == "Untrusted" && strings.HasSuffix(named.Obj().Pkg().Path(), "internal/diag")
}

type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// listModule lists the module's packages, and where the compiler left what every
// package exports.
func listModule(t *testing.T) (module []listed, exports map[string]string) {
	t.Helper()
	if err := gittest.Tree(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "git-ward/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	exports = map[string]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if p.ImportPath == "git-ward" || strings.HasPrefix(p.ImportPath, "git-ward/") {
			module = append(module, p)
		}
	}
	if !slices.ContainsFunc(module, func(p listed) bool { return p.ImportPath == "git-ward/sandbox" }) {
		t.Fatal("the module is not listed")
	}
	return module, exports
}
