package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestHeldWhenUnreadable: where a directive's unit cannot be read, nobody knows that it is
// not paused, and nothing is spent.
func TestHeldWhenUnreadable(t *testing.T) {
	bare := filepath.Join(t.TempDir(), "x.git")
	git := func(stdin string, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"--git-dir", bare}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("", "init", "--quiet", "--bare", bare)
	w := &worker{launch: &launch{spec: Spec{Bare: bare}}}
	if why := w.Held("D-1"); why != "" {
		t.Errorf("a directive without a unit is held: %s", why)
	}
	blob := git("no record", "hash-object", "-w", "--stdin")
	tree := git("100644 blob "+blob+"\tuow.json\n", "mktree")
	git("", "update-ref", "refs/ward/uow/D-1.1", git("x", "commit-tree", tree))
	if w.Held("D-1") == "" || w.Held("D-2") != "" {
		t.Errorf("D-1 %q, D-2 %q", w.Held("D-1"), w.Held("D-2"))
	}
	if err := os.RemoveAll(bare); err != nil {
		t.Fatal(err)
	}
	if w.Held("D-1") == "" {
		t.Error("without a repository nothing is held")
	}
}
