package house

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"git-ward/internal/gittest"
)

const module = "git-ward"

// TestMain runs the tests in the module's root, so that paths are the tree's own.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	gittest.Clean()
	os.Exit(code)
}

// goPackage is what these tests read of `go list -json`.
type goPackage struct {
	Dir, ImportPath, Name, Doc         string
	GoFiles, TestGoFiles, XTestGoFiles []string
	IgnoredGoFiles                     []string // for other systems or build tags
	Imports                            []string
}

// goList is what `go list` says, of the tree as it is now: see gittest.Tree.
func goList(args ...string) ([]goPackage, error) {
	if err := gittest.Tree(); err != nil {
		return nil, err
	}
	out, err := exec.Command("go", append([]string{"list",
		"-json=Dir,ImportPath,Name,Doc,GoFiles,TestGoFiles,XTestGoFiles,IgnoredGoFiles,Imports"}, args...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

var ours = sync.OnceValues(func() ([]goPackage, error) { return goList("./...") })

// packages are all of the module.
func packages(t *testing.T) []goPackage {
	t.Helper()
	all, err := ours()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// room is the first element of a package's path inside the module; "" is main.go.
func room(path string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(path, module), "/"), "/")
	return name
}

// verbs reports whether a package is a room's verbs, and wires whether it may wire
// rooms together.
func verbs(path string) bool { return strings.HasSuffix(path, "/command") }
func wires(path string) bool { return path == module || strings.Contains(path, "/cmd/") }

// beneath are the rooms that every other may import.
var beneath = []string{"protocols", "vm", "internal"}

// arrow says what is wrong with an import of one package of the module by another;
// "" where nothing is (docs/architecture.md, "The house").
func arrow(from, to string) string {
	switch {
	case strings.Contains(to, "/cmd/"):
		return "a cmd is a program, and nobody's library"
	case to == module+"/internal/cli" && !verbs(from) && !wires(from) && from != module+"/internal/cli":
		return "only a room's command, a cmd and main.go face the command line; all else is a library"
	case wires(from):
		return ""
	case from == module+"/sandbox/fence" && slices.Contains([]string{module + "/internal/git", module + "/sandbox/launch", module + "/sandbox/host", module + "/sandbox/door", module + "/sandbox/gateway"}, to):
		return "a fence is a specification's container: it knows no repository's content and no launch"
	case room(from) == room(to):
		if verbs(to) {
			return "a library does not stand on its own room's verbs"
		}
		return ""
	case slices.Contains([]string{"protocols", "vm"}, room(from)) && !verbs(from):
		if slices.Contains([]string{module + "/internal/diag", module + "/internal/pattern", module + "/internal/shellword"}, to) {
			return ""
		}
		return "protocols and vm are pure: of the module they import internal/diag, pattern and shellword, which are pure, too"
	case room(from) == "internal":
		return "what every room imports imports no room"
	case !slices.Contains(beneath, room(to)):
		return "a room imports protocols, vm and internal, never another room"
	}
	return ""
}

func TestImportsRunDown(t *testing.T) {
	for _, p := range packages(t) {
		if strings.Contains(p.ImportPath, "/cmd/") && p.Name != "main" {
			t.Errorf("%s: below cmd/ are programs, which wire rooms together; a library has its place in a room", p.ImportPath)
		}
		for _, to := range imports(t, p) {
			if room(to) == room(module) && to != module || !strings.HasPrefix(to+"/", module+"/") {
				continue
			}
			if why := arrow(p.ImportPath, to); why != "" && !slices.Contains(arrowsYet, p.ImportPath+" "+to) {
				t.Errorf("%s imports %s: %s", p.ImportPath, to, why)
			}
		}
	}
}

// imports are a package's, with those of files that only other build tags take.
func imports(t *testing.T, p goPackage) []string {
	t.Helper()
	all := slices.Clone(p.Imports)
	for _, name := range p.IgnoredGoFiles {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, spec := range parse(t, filepath.Join(p.Dir, name)).Imports {
			if path, err := strconv.Unquote(spec.Path.Value); err == nil && !slices.Contains(all, path) {
				all = append(all, path)
			}
		}
	}
	return all
}

// TestArrows holds the rule above to examples, so that it is known to find something.
func TestArrows(t *testing.T) {
	for _, c := range []struct {
		from, to string
		ok       bool
	}{
		{"git-ward", "git-ward/hooks/command", true},
		{"git-ward", "git-ward/hooks/cmd/ward-hook", false},
		{"git-ward/hooks/cmd/ward-hook", "git-ward/sandbox/door", true},
		{"git-ward/hooks/receive", "git-ward/sandbox/door", false},
		{"git-ward/hooks/receive", "git-ward/hooks/checks", true},
		{"git-ward/hooks/receive", "git-ward/hooks/command", false},
		{"git-ward/hooks/receive", "git-ward/internal/git", true},
		{"git-ward/hooks/receive", "git-ward/internal/cli", false},
		{"git-ward/hooks/command", "git-ward/internal/cli", true},
		{"git-ward/hooks/command", "git-ward/agent/store", false},
		{"git-ward/protocols/plan", "git-ward/internal/diag", true},
		{"git-ward/protocols/plan", "git-ward/internal/git", false},
		{"git-ward/protocols/command", "git-ward/internal/git", true},
		{"git-ward/protocols/command", "git-ward/vm/asm", true},
		{"git-ward/vm", "git-ward/protocols/plan", false},
		{"git-ward/internal/git", "git-ward/protocols/plan", false},
		{"git-ward/internal/git", "git-ward/internal/cli", false},
		{"git-ward/sandbox/fence", "git-ward/internal/git", false},
		{"git-ward/sandbox/fence", "git-ward/sandbox/podman", true},
	} {
		if why := arrow(c.from, c.to); (why == "") != c.ok {
			t.Errorf("%s to %s: %q", c.from, c.to, why)
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
	".":                      {"github.com/go-git/", "github.com/anthropics/", "github.com/openai/", "github.com/modelcontextprotocol/"},
	"./agent/cmd/ward-agent": {"github.com/containers/", "github.com/google/nftables", "github.com/go-git/"},
}

func TestSmallBinariesStaySmall(t *testing.T) {
	for binary, banned := range heavy {
		all, err := goList("-deps", binary)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			for _, prefix := range banned {
				if strings.HasPrefix(p.ImportPath, prefix) {
					t.Errorf("%s links %s", binary, p.ImportPath)
				}
			}
		}
	}
}

// TestModules: what `./...` leaves out because it is a module of its own is checked by the
// line of scripts/test that names it.
func TestModules(t *testing.T) {
	script, err := os.ReadFile("scripts/test")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files(t) {
		dir := filepath.Dir(path)
		if filepath.Base(path) == "go.mod" && dir != "." && !strings.Contains(string(script), "go -C "+dir+" vet") {
			t.Errorf("%s: scripts/test does not check this module", path)
		}
	}
}

// topLevel is all that may lie in the repository's root.
var topLevel = []string{"hooks", "bootstrap", "sandbox", "agent", "vm", "protocols", "scripts", "internal", "docs",
	"go.mod", "go.sum", "config.toml", "main.go", "main_test.go", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "LICENSE", "VERSION", ".ci", ".gitignore", ".gitattributes"}

func TestTopLevel(t *testing.T) {
	seen := map[string]bool{}
	for _, path := range files(t) {
		name, _, _ := strings.Cut(path, "/")
		if !slices.Contains(topLevel, name) && !seen[name] {
			t.Errorf("%s does not belong at the top level", name)
		}
		seen[name] = true
	}
}

// files are the project's, from the root, each once: what git tracks, for a person keeps
// other things beside it. Git is told to read a tree that belongs to another user, too. A
// tree without a repository is walked.
func files(t *testing.T) (all []string) {
	t.Helper()
	if out, err := exec.Command("git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false", "ls-files", "-z").Output(); err == nil && len(out) > 0 {
		for path := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() { // it may be removed, and not yet committed
				all = append(all, path)
			}
		}
		return all
	}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == "bin" || path == ".git": // in a linked worktree .git is a file
			if d.IsDir() {
				return filepath.SkipDir
			}
		case d.Type().IsRegular():
			all = append(all, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
