package command_test

import (
	"encoding/json"
	"strings"
	"testing"

	"git-ward/internal/gittest"
)

// TestIncludeChecker: a changed file by which a command checks the work speaks against a verdict
// until the PM includes it, with the blob that the claim has there; another blob needs another word (PROOF-3).
func TestIncludeChecker(t *testing.T) {
	p := newCopy(t)
	commit := claim(t, p, "D-1.1")
	const doubt = "changed file by which a command checks the work"
	note := func(path, blob string, more ...int) {
		t.Helper()
		var v map[string]any
		line, _, _ := strings.Cut(p.Run(p.Bare, "git", "notes", "--ref=certificates", "show", commit), "\n")
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		v["checkers"] = []map[string]string{{"path": path, "kind": "changed", "mode": "100644", "blob": blob}}
		for _, n := range more {
			v["checkers_more"] = n
		}
		made, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		p.Run(p.Bare, "git", "notes", "--ref=certificates", "append", "-m", string(made), commit)
		p.Git("pull", "--quiet", "--rebase")
	}
	note("near.py", commit)
	gittest.InOrder(t, ward(t, p, 0, "review", "D-1"), doubt+": near.py\n", "  or: git ward include D-1 (you read the changed checkers, and they are work)\n")
	gittest.InOrder(t, ward(t, p, 1, "include", "D-1", "other.py"), "other.py was not left out, and the verdict names it as no checker")
	gittest.InOrder(t, ward(t, p, 0, "include", "D-1"), "D-1 includes 1 path: pushed", "  near.py\n")
	if said := ward(t, p, 0, "review", "D-1"); strings.Contains(said, doubt) || !strings.Contains(said, "near.py") || strings.Contains(said, "git ward include") {
		t.Error(said)
	}
	note("near.py", strings.Repeat("a", 40))
	gittest.InOrder(t, ward(t, p, 0, "review", "D-1"), doubt+": near.py\n", "git ward include D-1")
	note("far.py", commit)
	gittest.InOrder(t, ward(t, p, 0, "review", "D-1"), doubt+": far.py\n")
	note("far.py", commit, 7) // those that the verdict does not list nobody can have read
	gittest.InOrder(t, ward(t, p, 0, "review", "D-1"), doubt+": far.py\n", doubt+": 7 more than are listed\n")
	gittest.InOrder(t, ward(t, p, 1, "include", "D-1"), "the verdict has 7 paths more than it lists", "- work:")
	gittest.InOrder(t, ward(t, p, 0, "include", "D-1", "far.py"), "D-1 includes 1 path: pushed", "  far.py\n")
	gittest.InOrder(t, ward(t, p, 0, "review", "D-1"), doubt+": 7 more than are listed\n")
}
