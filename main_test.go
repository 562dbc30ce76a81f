package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

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

// elsewhere are programs that scripts/setup --fence does not bring: what of
// scripts/setup does, for those whose tests say SKIPPED without them, or why none.
var elsewhere = map[string]string{
	"curl": "--tests", "gcc": "--tests", "ssh-keygen": "--hosting",
	"make": "--tests",
	"npm":  "tests try real agent programs where there is one",
	"cmp":  "Debian always has it", "xargs": "Debian always has it",
	"sudo": "setup needs it of an ordinary user only",
}

// prose are words of messages that are programs elsewhere.
var prose = []string{"as", "cargo", "file", "halt", "init", "look", "mvn", "sqlite3", "systemctl", "write"}

// record is what scripts/fresh --packages writes.
const record = "scripts/commands"

// TestCommands: every program that setup, scripts and tests call was there in a
// bare Debian after scripts/setup, says the record that scripts/fresh --packages
// made. With WARD_COMMANDS it writes the list, with a place of each, instead.
func TestCommands(t *testing.T) {
	called := map[string]string{}
	scripts, err := filepath.Glob("scripts/*")
	if err != nil {
		t.Fatal(err)
	}
	functions := map[string]bool{} // one script sources another
	for _, path := range append(scripts, "sandbox/image/customize.sh") {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if path != record {
			shell(called, functions, path, string(data), true)
		}
	}
	maps.DeleteFunc(called, func(name, _ string) bool { return functions[name] })
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") {
			err = goFile(called, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(called, func(name, _ string) bool {
		by, ok := elsewhere[name]
		return slices.Contains(prose, name) || ok && !strings.HasPrefix(by, "--")
	})
	names := slices.Sorted(maps.Keys(called))
	if len(names) < 50 {
		t.Errorf("only %d commands: %v", len(names), names)
	}
	if path := os.Getenv("WARD_COMMANDS"); path != "" {
		var list strings.Builder
		for _, name := range names {
			fmt.Fprintf(&list, "%s %s %s\n", name, cmp.Or(elsewhere[name], "--fence"), called[name])
		}
		if err := os.WriteFile(path, []byte(list.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	data, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	proved := strings.Split(string(data), "\n")
	for _, name := range names {
		if !slices.Contains(proved, name) {
			t.Errorf("%s: %s is called, and nothing proves that scripts/setup brings it; install it there, and run scripts/fresh --packages", called[name], name)
		}
	}
}

// shell adds the commands of a script, and its functions. Words of a text that may be no script count
// only where this machine has such a program.
func shell(called map[string]string, functions map[string]bool, place, text string, script bool) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), place)
	if err != nil {
		return
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if f, ok := n.(*syntax.FuncDecl); ok {
			functions[f.Name.Value] = true
		}
		return true
	})
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		for _, name := range words(call.Args) {
			if !functions[name] && (script || there(name)) {
				add(called, name, fmt.Sprintf("%s:%d", place, n.Pos().Line()))
			}
		}
		return true
	})
}

// runners run what their arguments name.
var runners = []string{"exec", "env", "command", "nsenter", "unshare", "setpriv", "xargs"}

// words are the commands of one call: the first word, and behind a runner the next
// that is neither an option nor a setting.
func words(args []*syntax.Word) (names []string) {
	for i := 0; i < len(args); i++ {
		name := args[i].Lit()
		if i > 0 && (strings.HasPrefix(name, "-") || strings.Contains(name, "=")) {
			continue
		}
		if !program.MatchString(name) {
			return names
		}
		names = append(names, name)
		if !slices.Contains(runners, name) {
			return names
		}
	}
	return names
}

// program is what a program's name looks like; a path is what it is.
var program = regexp.MustCompile(`^[a-z][a-z0-9._+-]*$`)

func there(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

// builtins of the shell, and Ward's own programs.
var builtins = regexp.MustCompile(`^(\.|:|\[|alias|break|cd|command|continue|echo|eval|exec|exit|export|false|hash|kill|local|printf|pwd|read|return|set|shift|source|test|time|times|trap|true|type|ulimit|umask|unset|wait|git-ward.*|ward-.*)$`)

func add(called map[string]string, name, place string) {
	if !builtins.MatchString(name) && called[name] == "" {
		called[name] = place
	}
}

// callers are functions that start a program or look for it, and which of their
// arguments names it.
var callers = map[string]int{"exec.Command": 0, "exec.LookPath": 0, "exec.CommandContext": 1, "sbin": 0, "e.program": 0}

// goFile adds the programs that Go code starts, and the commands of its scripts.
func goFile(called map[string]string, path string) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, 0)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			var name bytes.Buffer
			printer.Fprint(&name, set, n.Fun)
			if at, ok := callers[name.String()]; ok && at < len(n.Args) {
				if text, ok := literal(n.Args[at]); ok && program.MatchString(text) {
					add(called, text, set.Position(n.Pos()).String())
				}
			}
		case *ast.BasicLit:
			if text, ok := literal(n); ok && strings.ContainsAny(text, ";|&\n$>") && strings.Contains(text, " ") {
				shell(called, map[string]bool{}, set.Position(n.Pos()).String(), text, false)
			}
		}
		return true
	})
	return nil
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}
