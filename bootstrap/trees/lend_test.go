package trees_test

import (
	"os"
	"path/filepath"
	"testing"

	"git-ward/bootstrap/trees"
)

// TestTreeBorrows: a tree has the remote's branches and tags, and none of its objects; one
// that the remote freed makes the tree anew.
func TestTreeBorrows(t *testing.T) {
	g := newGrove(t)
	g.git(g.Bare, "tag", "v1", g.old)
	side := g.git(g.Bare, "commit-tree", "-m", "side", "-p", g.now, g.now+"^{tree}")
	g.git(g.Bare, "update-ref", "refs/heads/x/side", side)
	want := trees.Want{Branch: "agent/D-1", Commit: side}
	dir := g.prepare(want)
	for ref, id := range map[string]string{"HEAD": side, "refs/remotes/origin/main": g.now, "refs/remotes/origin/x/side": side, "refs/tags/v1": g.old} {
		if got := g.git(dir, "rev-parse", ref); got != id {
			t.Errorf("%s is %s, want %s", ref, got, id)
		}
	}
	if list, err := filepath.Glob(filepath.Join(dir, ".git/objects/*/*")); err != nil || len(list) != 1 || filepath.Base(list[0]) != "alternates" {
		t.Errorf("objects of its own: %v, %v", list, err)
	}
	g.git(g.Bare, "update-ref", "-d", "refs/heads/x/side")
	g.git(g.Bare, "gc", "--quiet", "--prune=now")
	g.write(dir+"/agent.sh", "not committed")
	want.Commit = g.old
	if dir = g.prepare(want); g.git(dir, "rev-parse", "HEAD") != g.old || g.read(dir+"/agent.sh") != "version false" || len(g.rescued) != 1 {
		t.Errorf("%q, rescued %v", g.read(dir+"/agent.sh"), g.rescued)
	}
	if _, err := os.Stat(filepath.Join(dir, ".git/refs/remotes/origin/x/side")); !os.IsNotExist(err) {
		t.Error(err)
	}
}
