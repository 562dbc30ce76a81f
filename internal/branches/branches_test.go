package branches

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
)

// root makes a branch of one commit, which has a file.
func root(t *testing.T, dir, branch, file string) {
	t.Helper()
	blob := gittest.Git(t, dir, "hash-object", "-w", "--stdin")
	tree := filepath.Join(t.TempDir(), "tree")
	if err := os.WriteFile(tree, []byte("100644 blob "+blob+"\t"+file+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", "git mktree <"+tree)
	cmd.Dir = dir
	id, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	gittest.Git(t, dir, "update-ref", "refs/heads/"+branch, gittest.Git(t, dir, "commit-tree", "-m", branch, strings.TrimSpace(string(id))))
}

// TestOf: settings go first; a clone of plain git's is told by what it fetched, and a branch
// that is called ward and is none of Ward's changes nothing.
func TestOf(t *testing.T) {
	for name, c := range map[string]struct {
		head   string
		make   func(t *testing.T, bare string)
		config []string // of the clone
		want   string   // control project, as the clone has them
		bare   string   // as the bare repository has them; "" for the same
	}{
		"Ward's own":            {head: "main", make: func(t *testing.T, d string) { root(t, d, "main", "COMMS.md") }, want: "main main"},
		"adopted":               {head: "master", make: func(t *testing.T, d string) { root(t, d, "master", "go.mod"); root(t, d, "ward", "COMMS.md") }, want: "ward master"},
		"a branch of that name": {head: "main", make: func(t *testing.T, d string) { root(t, d, "main", "go.mod"); root(t, d, "ward", "x") }, want: "main main"},
		"a branch of main": {head: "main", make: func(t *testing.T, d string) {
			root(t, d, "main", "COMMS.md")
			gittest.Git(t, d, "branch", "ward", "main")
		}, want: "main main"},
		"a clone's own words": {head: "main", make: func(t *testing.T, d string) { root(t, d, "main", "go.mod"); root(t, d, "papers", "COMMS.md") },
			config: []string{ControlKey, "papers"}, want: "papers main", bare: "main main"},
		"the host's words": {head: "trunk", make: func(t *testing.T, d string) {
			root(t, d, "trunk", "go.mod")
			root(t, d, "papers", "COMMS.md")
			if err := os.Mkdir(filepath.Join(d, "ward"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(d, "ward/config.toml"), []byte("[control]\nbranch = \"papers\"\nproject = \"trunk\"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, want: "main main", bare: "papers trunk"},
		"empty": {head: "main", make: func(*testing.T, string) {}, want: "main main"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bare, clone := filepath.Join(t.TempDir(), "r.git"), filepath.Join(t.TempDir(), "w")
			gittest.Git(t, ".", "init", "-q", "--bare", "--initial-branch="+c.head, bare)
			c.make(t, bare)
			gittest.Git(t, ".", "clone", "-q", bare, clone)
			if c.config != nil {
				gittest.Git(t, clone, append([]string{"config"}, c.config...)...)
			}
			for dir, want := range map[string]string{filepath.Join(clone, ".git"): c.want, bare: c.bare} {
				if want == "" {
					want = c.want
				}
				got, err := Of(t.Context(), git.Open(dir))
				if err != nil || got.Branch+" "+got.Project != want {
					t.Errorf("%s: %v %v, want %s", dir, got, err, want)
				}
				base := map[bool]string{true: "refs/heads/", false: "refs/remotes/origin/"}[dir == bare]
				if got.ControlRef() != base+got.Branch || got.ProjectRef() != base+got.Project || got.Base() != base {
					t.Error(got.ControlRef(), got.ProjectRef())
				}
			}
		})
	}
}

// TestFetch: one refspec where the branches are one.
func TestFetch(t *testing.T) {
	n := Names{base: fetched}
	n.Branch, n.Project = "main", "main"
	if got := strings.Join(n.Fetch(), " "); got != "+refs/heads/main:refs/remotes/origin/main" {
		t.Error(got)
	}
	n.Branch = "ward"
	if got := strings.Join(n.Fetch(), " "); got != "+refs/heads/ward:refs/remotes/origin/ward +refs/heads/main:refs/remotes/origin/main" {
		t.Error(got)
	}
}

// TestNamesOfAClone: what a setting says goes into refspecs, and has to be a branch.
func TestNamesOfAClone(t *testing.T) {
	dir := t.TempDir()
	gittest.Git(t, dir, "init", "-q")
	gittest.Git(t, dir, "config", ControlKey, "--upload-pack=x")
	if _, err := Of(t.Context(), git.Open(filepath.Join(dir, ".git"))); err == nil || !strings.Contains(err.Error(), "is not the name of a branch") {
		t.Error(err)
	}
}

// TestTold: a clone finds a control branch by itself where it is the project's, or is called ward.
func TestTold(t *testing.T) {
	for c, want := range map[config.Control]string{{Branch: "main", Project: "main"}: "", {Branch: Adopted, Project: "main"}: "", {Branch: "papers", Project: "ward"}: "papers"} {
		if got := Told(c); got != want {
			t.Errorf("%v: %q, want %q", c, got, want)
		}
	}
}
