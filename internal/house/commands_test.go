package house

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// declared is the list of programs that scripts and tests may call, each with what
// brings it; scripts/guard makes a PATH of it, and scripts/fresh --packages proves it.
const declared = "scripts/commands"

// brings are the ways for a program to come to a machine.
var brings = []string{"base", "--fence", "--tests", "--hosting", "optional"}

// TestCommands: each program that a script or Go code calls by name is declared. What is
// called in another way is not found here, and is missing behind scripts/guard.
func TestCommands(t *testing.T) {
	data, err := os.ReadFile(declared)
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]bool{}
	last := ""
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) != 2 || !slices.Contains(brings, fields[1]) || fields[0] <= last {
			t.Errorf("%s: %q is no name and one of %v, in order", declared, line, brings)
			continue
		}
		list[fields[0]], last = true, fields[0]
	}
	called := map[string]string{}
	scripts, err := filepath.Glob("scripts/*")
	if err != nil {
		t.Fatal(err)
	}
	functions := map[string]bool{} // one script sources another
	for _, path := range append(scripts, "sandbox/image/customize.sh") {
		if info, err := os.Stat(path); err != nil || info.IsDir() || path == declared || path != "sandbox/image/customize.sh" && filepath.Ext(path) != "" {
			continue
		}
		shell(t, called, functions, path)
	}
	maps.DeleteFunc(called, func(name, _ string) bool { return functions[name] })
	for _, path := range files(t) {
		if strings.HasSuffix(path, ".go") {
			if err := goFile(called, path); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(called) < 50 {
		t.Errorf("only %d commands were found", len(called))
	}
	for name, place := range called {
		if !list[name] {
			t.Errorf("%s calls %s, which %s does not have: write it there with what brings it", place, name, declared)
		}
	}
}

// TestResultsAreOfTheTree: a test that has the go command read the tree tells go test so,
// which else prints the result that it had before the tree changed.
func TestResultsAreOfTheTree(t *testing.T) {
	reads := regexp.MustCompile(`"go", "(build|list|run|vet)"|Command\("\.\./scripts/`)
	found := 0
	for _, p := range packages(t) {
		for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			data, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			path := strings.TrimPrefix(p.ImportPath, module+"/") + "/" + name
			if !reads.Match(data) || path == "hooks/bench_test.go" { // it builds a program that it has written itself
				continue
			}
			found++
			if !bytes.Contains(data, []byte("gittest.Tree(")) && !bytes.Contains(data, []byte("gittest.Bin(")) {
				t.Errorf("%s: call gittest.Tree or gittest.Bin before the go command reads the tree", path)
			}
		}
	}
	if found < 3 {
		t.Errorf("only %d files were found", found)
	}
}

// shell adds the commands of a script, and its functions.
func shell(t *testing.T, called map[string]string, functions map[string]bool, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(bytes.NewReader(data), path)
	if err != nil {
		t.Error(err)
		return
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			functions[n.Name.Value] = true
		case *syntax.CallExpr:
			for _, name := range words(n.Args) {
				add(called, name, fmt.Sprintf("%s:%d", path, n.Pos().Line()))
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

// builtins of the shell, and Ward's own programs.
var builtins = regexp.MustCompile(`^(\.|:|\[|alias|break|cd|command|continue|echo|eval|exec|exit|export|false|hash|kill|local|mapfile|printf|pwd|read|return|set|shift|shopt|source|test|time|times|trap|true|type|ulimit|umask|unset|wait|git-ward.*|ward-.*)$`)

func add(called map[string]string, name, place string) {
	if !builtins.MatchString(name) && called[name] == "" {
		called[name] = place
	}
}

// callers are functions that start a program or look for it, and which of their
// arguments names it.
var callers = map[string]int{"exec.Command": 0, "exec.LookPath": 0, "exec.CommandContext": 1, "sbin": 0, "e.program": 0}

// goFile adds the programs that Go code starts by a name that stands there.
func goFile(called map[string]string, path string) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, 0)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			var name bytes.Buffer
			printer.Fprint(&name, set, call.Fun)
			if at, ok := callers[name.String()]; ok && at < len(call.Args) {
				if text, ok := literal(call.Args[at]); ok && program.MatchString(text) {
					add(called, text, set.Position(call.Pos()).String())
				}
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
