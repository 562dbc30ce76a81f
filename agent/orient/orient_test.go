package orient

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/worktree"
	"git-ward/protocols/knowledge"
)

const meta = `{"name": "ward-agent", "version": "1", "description": "a test", "capabilities": ["git"], "limitations": ["no \u001b[31mcolours"]}`

// clone is a clone of a new remote; its main has these files.
func clone(t *testing.T, files map[string]string) *worktree.Tree {
	t.Helper()
	remote, dir := filepath.Join(t.TempDir(), "remote.git"), t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=Pat", "-c", "user.email=pat@example.org"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "--quiet", "--bare", remote)
	git("init", "--quiet", "--initial-branch=main")
	tree, err := worktree.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range files {
		if err := tree.Write(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	git("add", "--all")
	git("commit", "--quiet", "--allow-empty", "-m", "first")
	git("remote", "add", "origin", remote)
	git("push", "--quiet", "origin", "main")
	return tree
}

func getenv(name string) string { return map[string]string{"PATH": "/bin", "HOME": "/"}[name] }

// TestProblems: an agent that does not know what it is orients itself by nothing
// else; one that lacks what all work needs may not begin.
func TestProblems(t *testing.T) {
	for name, c := range map[string]struct {
		files  map[string]string
		getenv func(string) string
		want   string // the first problem, "" for none
		level2 bool
	}{
		"all is well":    {map[string]string{knowledge.MetaPath: meta}, getenv, "", true},
		"no identity":    {nil, getenv, knowledge.MetaPath + " is missing: the agent does not know what it is", false},
		"half of one":    {map[string]string{knowledge.MetaPath: "{"}, getenv, knowledge.MetaPath + ":1", false},
		"no environment": {map[string]string{knowledge.MetaPath: meta}, func(string) string { return "" }, "environment: PATH is set: it is not set", true},
	} {
		r, err := Run(t.Context(), Options{Tree: clone(t, c.files), Getenv: c.getenv})
		if err != nil {
			t.Fatal(name, err)
		}
		if r.Failed() != (c.want != "") || r.Failed() && !strings.HasPrefix(r.Problems[0], c.want) || (r.Repository != nil) != c.level2 || (r.Environment != nil) != c.level2 {
			t.Errorf("%s: %q", name, r.Problems)
		}
	}
}

// TestNoRemote: git does not reach its remote, which is a problem and no trouble.
func TestNoRemote(t *testing.T) {
	tree := clone(t, map[string]string{knowledge.MetaPath: meta})
	if _, err := tree.Git(t.Context(), "remote", "set-url", "origin", filepath.Join(tree.Dir, "gone")); err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), Options{Tree: tree, Getenv: getenv})
	if err != nil || len(r.Problems) != 1 || !strings.HasPrefix(r.Problems[0], "network: the remote answers git: ") {
		t.Errorf("%v %+v", err, r)
	}
}

// TestRepository: level 2 says how far each artifact is behind, what is missing, and
// the newest post-mortem by its date.
func TestRepository(t *testing.T) {
	tree := clone(t, map[string]string{knowledge.MetaPath: meta, "postmortems/2026-01-01-D-1.md": "Old.", "postmortems/2026-11-21-D-2.md": "New.\x1b[2J"})
	for range 2 {
		if _, err := tree.Git(t.Context(), "-c", "user.name=Pat", "-c", "user.email=pat@example.org", "commit", "--quiet", "--allow-empty", "-m", "later"); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Run(t.Context(), Options{Tree: tree, Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	r.WriteText(&text)
	for _, want := range []string{
		"L1 self-awareness\n  ward-agent 1: a test\n  can: git\n  cannot: no ", "L2 repository\n  commit ", " main\n",
		"  knowledge_core/agent_meta.json: ", " bytes, 2 commits since\n", "  knowledge_core/symbols.json: missing: git ward knowledge build makes it\n",
		"  last post-mortem: postmortems/2026-11-21-D-2.md\n    | New.", "L3 environment\n  fence: none\n", "  yes  file system, write and sync 4 KiB (",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in:\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "\x1b") {
		t.Errorf("a terminal's command passes: %q", text.String())
	}
}

// TestOutside: unknowns and research are asked of what the caller has, and what goes
// wrong there stands in the report.
func TestOutside(t *testing.T) {
	tree := clone(t, map[string]string{knowledge.MetaPath: meta})
	for name, c := range map[string]struct {
		ask             func(context.Context, string) (string, error)
		answer, trouble string
	}{
		"nothing is set up": {nil, "", ""},
		"it answers":        {func(context.Context, string) (string, error) { return strings.Repeat("x", maxAnswer+1), nil }, strings.Repeat("x", maxAnswer), ""},
		"it does not":       {func(context.Context, string) (string, error) { return "", errors.New("no way\nout") }, "", "no way"},
	} {
		r, err := Run(t.Context(), Options{Tree: tree, Getenv: getenv, Unknowns: []Question{{Text: "q"}}, Search: c.ask, Topic: "t", Research: c.ask})
		if err != nil {
			t.Fatal(name, err)
		}
		if u := r.Unknowns[0]; u.Text != "q" || u.Answer != c.answer || !strings.HasPrefix(u.Error, c.trouble) || r.Research.Topic != "t" || (r.Research.Error != "") != (c.answer == "") {
			t.Errorf("%s: %+v %+v", name, u, r.Research)
		}
	}
}

// TestConnect: an address that does not answer is told, and stops nobody.
func TestConnect(t *testing.T) {
	r, err := Run(t.Context(), Options{Tree: clone(t, map[string]string{knowledge.MetaPath: meta}), Getenv: getenv, Connect: []string{"127.0.0.1:1"}})
	if err != nil || r.Failed() {
		t.Fatal(err, r.Problems)
	}
	for _, p := range r.Environment.Results {
		if p.What == "connect to 127.0.0.1:1" && !p.OK && p.Detail != "" {
			return
		}
	}
	t.Errorf("%+v", r.Environment.Results)
}
