package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"git-ward/protocols/plan"
)

const module = "git-ward"

// goPackage is what this test reads of `go list -json`.
type goPackage struct {
	ImportPath  string
	Doc         string
	Imports     []string
	TestImports []string
}

func goList(t *testing.T, args ...string) []goPackage {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-json=ImportPath,Doc,Imports,TestImports"}, args...)...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []goPackage
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// room is the first element of a package's path inside the module.
func room(path string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, module+"/"), "/")
	return name
}

// wires reports whether a package may wire rooms together.
func wires(path string) bool { return path == module || strings.Contains(path, "/cmd/") }

// allowed says whether one package of the module may import another: imports run
// down only (DESIGN.md, "The house").
func allowed(from, to string) bool {
	if wires(from) || room(from) == room(to) {
		return !strings.Contains(to, "/cmd/")
	}
	switch room(from) {
	case "protocols", "vm":
		// Their command packages are the room's face to the shell; the rest is pure.
		if from == module+"/"+room(from)+"/command" {
			return room(to) == "internal" || from == module+"/protocols/command" && room(to) == "vm"
		}
		return to == module+"/internal/diag"
	case "internal":
		return false
	}
	return slices.Contains([]string{"protocols", "vm", "internal"}, room(to))
}

func TestImportsRunDown(t *testing.T) {
	for _, p := range goList(t, "./...") {
		for _, to := range p.Imports {
			if strings.HasPrefix(to, module) && !allowed(p.ImportPath, to) {
				t.Errorf("%s imports %s: a room imports protocols, vm and internal only", p.ImportPath, to)
			}
		}
	}
}

func TestEveryPackageSaysItsJob(t *testing.T) {
	for _, p := range goList(t, "./...") {
		if p.Doc == "" {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}

// heavy are dependencies that small binaries must not link: their start is part
// of every push, or of every restart.
var heavy = map[string][]string{
	"./hooks/cmd/ward-hook": {"github.com/go-git/", "github.com/rs/zerolog", "net/http", "github.com/containers/", "github.com/google/nftables",
		"github.com/santhosh-tekuri/", "github.com/cockroachdb/", "crypto/tls", "text/template",
		// x/text/unicode/norm starts in no time and allocates nothing; these make tables (cases: 49 allocations).
		"golang.org/x/text/cases", "golang.org/x/text/language", "golang.org/x/text/internal", "golang.org/x/text/collate"},
	"./bootstrap/cmd/ward-watcher": {"net/http", "crypto/tls", "github.com/containers/", "github.com/google/nftables", "github.com/go-git/",
		"github.com/anthropics/", "github.com/openai/"},
	// The models' libraries and the Model Context Protocol's have binaries of their own.
	// The engines that vm is measured against are for its tests.
	".": {"github.com/anthropics/", "github.com/openai/", "github.com/modelcontextprotocol/",
		"go.starlark.net/", "github.com/yuin/", "github.com/tetratelabs/"},
	"./agent/cmd/ward-agent": {"github.com/containers/", "github.com/google/nftables", "github.com/go-git/",
		"go.starlark.net/", "github.com/yuin/", "github.com/tetratelabs/"},
}

func TestSmallBinariesStaySmall(t *testing.T) {
	for binary, banned := range heavy {
		for _, p := range goList(t, "-deps", binary) {
			for _, prefix := range banned {
				if strings.HasPrefix(p.ImportPath, prefix) {
					t.Errorf("%s links %s", binary, p.ImportPath)
				}
			}
		}
	}
}

// TestTemplatePlan: the registered deep-research plan is the one that `git ward
// research plan` would write.
func TestTemplatePlan(t *testing.T) {
	data, err := files.ReadFile("hooks/template/plans/deep-research.txt")
	if err != nil {
		t.Fatal(err)
	}
	if want := plan.Research("the open questions of COMMS.md", "open-questions", true).String(); string(data) != want {
		t.Errorf("it should be\n%s", want)
	}
}

// topLevel is all that may lie in the repository's root.
var topLevel = []string{"hooks", "bootstrap", "sandbox", "agent", "vm", "protocols", "scripts", "internal", "docs", "bin",
	"go.mod", "go.sum", "config.toml", "main.go", "main_test.go", "README.md", "CONTRIBUTING.md", "LICENSE", "VERSION", ".ci", ".git", ".gitignore", ".gitattributes"}

func TestTopLevel(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(topLevel, e.Name()) {
			t.Errorf("%s does not belong at the top level", e.Name())
		}
	}
}

// TestThreatModel: every promise of docs/threat-model.md names the tests that try
// it, and each of those is there.
func TestThreatModel(t *testing.T) {
	data, err := os.ReadFile("docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	_, promises, found := strings.Cut(string(data), "\n## What is promised\n")
	promises, _, more := strings.Cut(promises, "\n## What is not promised\n")
	if !found || !more {
		t.Fatal("it has no sections \"What is promised\" and \"What is not promised\"")
	}
	rows := 0
	for line := range strings.Lines(promises) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| ---") || strings.TrimSpace(cells[0]) == "promise" {
			continue
		}
		rows++
		names := backticked.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(cells) != 2 || len(names) == 0 {
			t.Errorf("no test tries the promise %q", strings.TrimSpace(cells[0]))
		}
		for _, name := range names {
			if !hasTest(t, name[1]) {
				t.Errorf("%q names %s, and there is no such test", strings.TrimSpace(cells[0]), name[1])
			}
		}
	}
	if rows < 20 {
		t.Errorf("only %d promises were found", rows)
	}
}

var backticked = regexp.MustCompile("`([^`]+)`")

// hasTest reports whether `folder TestName` is a test function of a folder's, or
// `folder NAME.txtar` one of its scripts.
func hasTest(t *testing.T, name string) bool {
	folder, test, ok := strings.Cut(name, " ")
	if !ok {
		return false
	}
	if strings.HasSuffix(test, ".txtar") {
		_, err := os.Stat(filepath.Join(folder, "testdata", test))
		return err == nil
	}
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		data, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(data), "\nfunc "+test+"(")
	})
}
