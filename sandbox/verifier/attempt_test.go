package verifier

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/sources"
)

// files are a tree's, by path. A name that begins with "+" is executable; content
// "-" deletes; "-> x" is a link.
type files map[string]string

// repository is a bare repository without hooks and what is checked out beside it.
type repository struct {
	testing.TB
	bare, work string
}

func newRepository(t testing.TB) *repository {
	r := &repository{t, filepath.Join(t.TempDir(), "bare.git"), t.TempDir()}
	if out, err := exec.Command("git", "init", "--quiet", "--bare", "--initial-branch=main", r.bare).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	return r
}

func (r *repository) git(args ...string) string {
	r.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.work
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org", "GIT_DIR="+r.bare, "GIT_WORK_TREE="+r.work)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// write writes a file of the working tree, as files have it.
func (r *repository) write(name, content string) {
	r.Helper()
	name, isProgram := strings.CutPrefix(name, "+")
	full := filepath.Join(r.work, name)
	target, isLink := strings.CutPrefix(content, "-> ")
	err := os.MkdirAll(filepath.Dir(full), 0o755)
	switch {
	case content == "-":
		err = os.RemoveAll(full)
	case isLink:
		err = os.Symlink(target, full)
	case isProgram:
		err = gittest.WriteProgram(full, content)
	case err == nil:
		err = os.WriteFile(full, []byte(content), 0o644)
	}
	if err != nil {
		r.Fatal(err)
	}
}

// commit writes files, commits all that is there, and returns the commit.
func (r *repository) commit(f files) string {
	r.Helper()
	for _, name := range slices.Sorted(maps.Keys(f)) { // what goes, before what is below it
		r.write(name, f[name])
	}
	r.git("add", "--all", "--force")
	r.git("commit", "--quiet", "--allow-empty", "--message", "some")
	return r.git("rev-parse", "HEAD")
}

// usualBounds are config.toml's.
func usualBounds() Bounds {
	v := config.Default().Verify
	return Bounds{Entries: v.CheckoutEntries, Depth: v.CheckoutDepth, Bytes: v.CheckoutSize}
}

// claimed is a claim of lines on the agent's commit, on top of main's.
func (r *repository) claimed(main, agents files, work []string, lines ...string) Claim {
	r.Helper()
	c := Claim{Main: r.commit(main), Replays: 1, Bounds: usualBounds(), Work: work}
	for i, line := range lines {
		c.Commands = append(c.Commands, Command{Name: fmt.Sprintf("criterion %d", i+1), Line: line})
	}
	c.Commit = r.commit(agents)
	return c
}

func (r *repository) verify(c Claim) (*Facts, error) {
	return Verify(r.Context(), git.Open(r.bare), &Processes{Limits: Limits{Time: 5 * time.Minute, Output: 1 << 20}, Places: newPlaces(r)}, c)
}

// try runs lines on the agent's commit.
func try(t *testing.T, main, agents files, work []string, lines ...string) *Facts {
	t.Helper()
	r := newRepository(t)
	f, err := r.verify(r.claimed(main, agents, work, lines...))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// attempt is what an agent's commit changes, and a line that judges it.
type attempt struct {
	needs        string // a program
	main, agents files
	line         string
	want         string // what is left out, as list has it
}

// manifests make the sources of a language work: without one nothing would be.
var manifests = map[string]string{"go": "go.mod", "python3": "pyproject.toml", "node": "package.json", "npm": "package.json"}

// ofProject is main with the manifest of a project.
func (a *attempt) ofProject() files {
	main := maps.Clone(a.main)
	if name := manifests[a.needs]; name != "" && main[name] == "" {
		main[name] = map[string]string{"go.mod": goMod, "pyproject.toml": "[project]\nname = \"calc\"\n", "package.json": `{"name":"calc"}`}[name]
	}
	return main
}

// judge wants what is left out of an attempt, and no deviation. In the quick tier
// that is what the trees alone show; else the line runs, and ran looks at its ends.
func (a *attempt) judge(t *testing.T, ran func(*Facts)) {
	t.Helper()
	t.Parallel()
	f := a.compare(t)
	if !testing.Short() {
		needs(t, a.needs)
		line := a.line
		if a.needs == "go" {
			line = goLine(t, a.line)
		}
		f = try(t, a.ofProject(), a.agents, nil, line)
	}
	if got := list(f); got != a.want || len(f.Deviations) > 0 {
		t.Errorf("left out %q, deviations %v, want %q", got, f.Deviations, a.want)
	}
	if !testing.Short() {
		ran(f)
	}
}

// compare is what the trees alone show.
func (a *attempt) compare(t *testing.T) *Facts {
	t.Helper()
	m := memory{}
	main, agents := sources.Tree{}, sources.Tree{}
	m.add(main, a.ofProject())
	maps.Copy(agents, main)
	m.add(agents, a.agents)
	c := &Claim{Commands: []Command{{Name: "criterion 1", Line: a.line}}}
	d, err := compare(c, main, main, agents, m.blob)
	if err != nil {
		t.Fatal(err)
	}
	return &Facts{Left: d.left, Included: d.included, Deviations: d.deviations}
}

// memory is blobs by their id.
type memory map[string]string

// add puts files into a tree.
func (m memory) add(tree sources.Tree, f files) {
	for name, content := range f {
		name, isProgram := strings.CutPrefix(name, "+")
		mode := "100644"
		target, isLink := strings.CutPrefix(content, "-> ")
		switch {
		case content == "-":
			delete(tree, name)
			continue
		case isLink:
			mode, content = "120000", target
		case isProgram:
			mode = "100755"
		}
		id := fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
		m[id], tree[name] = content, mode+" "+id
	}
}

// blob is sources.Blobs.
func (m memory) blob(id string, limit int64) (string, bool) {
	content, ok := m[id]
	return content, ok && int64(len(content)) <= limit
}

// ok reports whether every run of a list is met.
func ok(runs []Run) bool {
	return len(runs) > 0 && !slices.ContainsFunc(runs, func(r Run) bool { return !r.OK() })
}

func ends(runs []Run) string {
	var all []string
	for _, r := range runs {
		all = append(all, fmt.Sprintf("%s: %s %d\n%s", r.Line, r.End, r.Exit, r.Tail))
	}
	return strings.Join(all, "\n")
}

func list(f *Facts) string {
	var all []string
	for _, l := range f.Left {
		all = append(all, l.Path+" ("+l.Kind+")")
	}
	for _, path := range f.Included {
		all = append(all, path+" (included)")
	}
	return strings.Join(all, " ")
}

// goLine is a line with the machine's build cache: each checkout would build the standard
// library anew. It leaves out DWARF and vet, which take longer than the tests.
func goLine(t *testing.T, line string) string {
	t.Helper()
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return "export GOFLAGS='-mod=mod -ldflags=-w -vet=off' GOTOOLCHAIN=local GOPROXY=off GOCACHE=" + strings.TrimSpace(string(cache)) + "; " + line
}

func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("SKIPPED: %s is not on this machine", program)
	}
}

const (
	badGo   = "package calc\n\nfunc Two() int { return 1 }\n"
	goodGo  = "package calc\n\nfunc Two() int { return 2 }\n"
	testGo  = "package calc\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) {\n\tif Two() != 2 {\n\t\tt.Fatal(Two())\n\t}\n}\n"
	cheatGo = "package calc\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n"
	goMod   = "module example.org/calc\n\ngo 1.21\n"

	badPy  = "def two():\n    return 1\n"
	goodPy = "def two():\n    return 2\n"
	testPy = "import unittest\nfrom calc import two\n\n\nclass T(unittest.TestCase):\n    def test_two(self):\n        self.assertEqual(two(), 2)\n\n\nif __name__ == '__main__':\n    unittest.main()\n"

	badJS  = "exports.two = () => 1\n"
	goodJS = "exports.two = () => 2\n"
	testJS = "const {two} = require('../calc.js')\nif (two() !== 2) process.exit(1)\n"
)
