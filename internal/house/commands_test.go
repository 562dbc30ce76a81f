package house

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
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
)

// elsewhere are programs that scripts/setup --fence does not bring: what of
// scripts/setup does, for those whose tests say SKIPPED without them, or why none.
var elsewhere = map[string]string{
	"curl": "--tests", "gcc": "--tests", "ssh-keygen": "--hosting",
	"make":                    "--tests",
	"crun":                    "scripts/setup --tests brings it; its tests say SKIPPED without it",
	"chromium-headless-shell": "tests of pages say SKIPPED without it; scripts/setup --tests brings it",
	"man":                     "tests of man pages say SKIPPED without it",
	"mandoc":                  "tests of man pages say so without it; man is the other reader",
	"runsc":                   "Go builds it (docs/admin.md); its tests say SKIPPED without it",
	"xmllint":                 "scripts/setup --tests brings it; its test says SKIPPED without it",
	"tmux":                    "scripts/setup --tests brings it; its test says SKIPPED without it",
	"ctags":                   "without it some languages are read line by line; scripts/setup --tests brings it",
	"python3":                 "a test compares with Python's own parser where there is one",
	"npm":                     "tests try real agent programs where there is one",
	"dot":                     "pictures are drawn where graphviz is; a test compares their text",
	"cmp":                     "Debian always has it", "diff": "Debian always has it", "xargs": "Debian always has it",
	"dpkg": "Debian always has it", "dpkg-deb": "Debian always has it", "gzip": "Debian always has it", "md5sum": "Debian always has it", "sync": "Debian always has it",
	"du":      "Debian always has it",
	"lintian": "its test says SKIPPED without it", "systemd-analyze": "its tests say SKIPPED without it",
	"kubectl": "docs/cluster.md says who brings it; tests in a cluster say SKIPPED without one",
	"ctr":     "containerd's, of a cluster for tests", "pgrep": "only beside a cluster for tests",
	"busctl": "it is systemd's, and called only where systemd runs",
	"sudo":   "setup needs it of an ordinary user only",
}

// prose are words of messages that are programs elsewhere.
var prose = []string{"as", "cargo", "edit", "file", "halt", "init", "less", "look", "mvn", "print", "prune", "see", "sqlite3", "systemctl", "write"}

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
		if info, err := os.Stat(path); err == nil && (info.IsDir() || strings.HasSuffix(path, ".go")) {
			continue
		}
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
	if found < 5 {
		t.Errorf("only %d files were found", found)
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
