package orient

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/internal/git"
	"git-ward/internal/worktree"
	"git-ward/protocols/knowledge"
)

// recordOf makes a unit's record in a repository.
func recordOf(t *testing.T, tree *worktree.Tree, unit string, files map[string]string) {
	t.Helper()
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(t.TempDir(), "index"), "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org"}
	repo := git.Open(filepath.Join(tree.Dir, ".git"))
	for name, text := range files {
		id, err := repo.WriteObject("blob", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tree.GitInput(t.Context(), env, nil, "update-index", "--add", "--cacheinfo", "100644,"+id+","+name); err != nil {
			t.Fatal(err)
		}
	}
	id, err := tree.GitInput(t.Context(), env, nil, "write-tree")
	if err != nil {
		t.Fatal(err)
	}
	commit, err := tree.GitInput(t.Context(), env, nil, "commit-tree", "-m", "record", strings.TrimSpace(string(id)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Git(t.Context(), "push", "--quiet", "origin", strings.TrimSpace(string(commit))+":refs/ward/record/"+unit); err != nil {
		t.Fatal(err)
	}
}

// breakRecord makes a record whose post-mortems cannot be read.
func breakRecord(t *testing.T, bare, unit string) {
	t.Helper()
	repo := git.Open(bare)
	broken, err := repo.WriteObject("tree", []byte("no tree"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := git.FormatTree([]git.Entry{{Mode: git.ModeDir, Name: "postmortems", ID: broken}})
	if err != nil {
		t.Fatal(err)
	}
	top, err := repo.WriteObject("tree", data)
	if err != nil {
		t.Fatal(err)
	}
	commit, err := repo.CommitTree("A <a@example.org>", top, "", time.Unix(1, 0), "record")
	if err != nil {
		t.Fatal(err)
	}
	if err := repo.UpdateRefs(t.Context(), "test", git.RefUpdate{Ref: "refs/ward/record/" + unit, Old: git.Zero, New: commit}); err != nil {
		t.Fatal(err)
	}
}

// TestEarlier: orientation reads what earlier units of the directive learnt, and others
// whose work is in the project; of those that were not taken it knows nothing.
func TestEarlier(t *testing.T) {
	tree := clone(t, map[string]string{knowledge.MetaPath: meta})
	paper := func(word string) map[string]string {
		return map[string]string{"LEARNINGS.md": "learnt " + word + "\n", "postmortems/2026-01-01-D.md": "old", "postmortems/2026-02-01-D.md": "words of " + word + "\x1b[2J\n"}
	}
	for _, unit := range []string{"D-1.1", "D-1.2", "D-2.1", "D-3.1"} {
		recordOf(t, tree, unit, paper(unit))
	}
	if _, err := tree.Git(t.Context(), "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet", "--allow-empty", "-m", "taken\n\nWard-Record: refs/ward/record/D-2.1"); err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Git(t.Context(), "push", "--quiet", "origin", "main"); err != nil {
		t.Fatal(err)
	}
	bare, err := tree.Git(t.Context(), "remote", "get-url", "origin")
	if err != nil {
		t.Fatal(err)
	}
	breakRecord(t, bare, "D-1.3") // which keeps nobody from anything
	r, err := Run(t.Context(), Options{Tree: tree, Getenv: getenv, Task: "D-1", Unit: "D-1.2", Bare: bare})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	r.WriteText(&text)
	want := "  earlier unit D-1.1\n   its learnings:\n    | learnt D-1.1\n   its postmortems/2026-02-01-D.md:\n    | words of D-1.1"
	if !strings.Contains(text.String(), want) || !strings.Contains(text.String(), "learnt D-2.1") {
		t.Errorf("%s", text.String())
	}
	for _, not := range []string{"learnt D-1.2", "learnt D-3.1", "old", "\x1b"} {
		if strings.Contains(text.String(), not) {
			t.Errorf("it tells %q:\n%s", not, text.String())
		}
	}
}

// TestGuidance: an adopted project's own documents are told as such, within bounds, as its
// branch has them; Ward's own project has none to tell.
func TestGuidance(t *testing.T) {
	tree := clone(t, map[string]string{"AGENTS.md": "Use tabs.\n", "README.md": strings.Repeat("r", 40<<10), "CLAUDE.md": "AGENTS.md", knowledge.MetaPath: meta})
	if text, err := Guidance(t.Context(), tree); err != nil || text != "" {
		t.Errorf("%q %v", text, err)
	}
	for _, args := range [][]string{{"push", "--quiet", "origin", "main:master"}, {"fetch", "--quiet", "origin"}, {"config", "ward.control", "ward"}, {"config", "ward.project", "master"}} {
		if _, err := tree.Git(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(tree.Dir, "AGENTS.md"), []byte("Obey the branch."), 0o644); err != nil {
		t.Fatal(err)
	}
	text, err := Guidance(t.Context(), tree)
	if err != nil || !strings.HasPrefix(text, "# What the project says\n") || !strings.Contains(text, "\n## AGENTS.md\n\n    Use tabs.\n") ||
		!strings.Contains(text, "## README.md") || strings.Contains(text, "CLAUDE.md") || strings.Contains(text, "Obey") || len(text) > maxGuides {
		t.Errorf("%d bytes: %.300s %v", len(text), text, err)
	}
}
