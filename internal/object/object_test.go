package object

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What go-git writes, git must find whole and read back.
func TestCommitsAreGits(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r.git")
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"--git-dir", dir}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "--quiet", "--bare", dir)
	files := map[string][]byte{"a": []byte("1\n"), "d/e/f": []byte("2\n"), "d.x": nil, "d-x": nil}
	store := Open(dir)
	who := Signature("Ward", "ward@localhost", time.Unix(1700000000, 0))
	first, err := store.WriteCommit("", files, Commit{Who: who, Message: "first\n"})
	if err != nil {
		t.Fatal(err)
	}
	tree, names, err := store.Tree(first)
	if err != nil || names["d"] == "" || names["a"] == "" {
		t.Fatal(err, names)
	}
	// Over a base, what the files do not name stays.
	second, err := store.WriteCommit(tree, map[string][]byte{"d/e/g": []byte("3\n"), "a": []byte("4\n")}, Commit{Who: who, Parents: []string{first}, Message: "second\n"})
	if err != nil {
		t.Fatal(err)
	}
	git("update-ref", "refs/heads/main", second)
	git("fsck", "--strict")
	if got := git("ls-tree", "-r", "--name-only", "main"); got != "a\nd-x\nd.x\nd/e/f\nd/e/g" {
		t.Error(got)
	}
	if got := git("show", "main:a") + git("show", "main:d/e/f") + git("log", "--format=%s", "main"); got != "42second\nfirst" {
		t.Errorf("%q", got)
	}
}
