package redact

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/hooks/audit"
	"git-ward/internal/git"
)

// repository is a bare one whose refs a test moves by itself.
type repository struct {
	*git.Repo
	t *testing.T
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	r := &repository{git.Open(t.TempDir()), t}
	r.git("", "init", "--quiet", "--bare", r.Dir)
	if err := os.MkdirAll(filepath.Join(r.Dir, "ward/pending"), 0o755); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *repository) git(stdin string, args ...string) string {
	r.t.Helper()
	out, err := r.OutputFrom(r.t.Context(), []byte(stdin), args...)
	if err != nil {
		r.t.Fatalf("git %v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// commit is one with a tree of these entries, in the form of git mktree.
func (r *repository) commit(entries string, header string) string {
	r.t.Helper()
	tree := r.git(entries, "mktree")
	text := "tree " + tree + "\n" + header + "author A <a@example.org> 1 +0000\ncommitter A <a@example.org> 1 +0000\n"
	id, err := r.WriteObject("commit", []byte(text+"gpgsig -----BEGIN SSH SIGNATURE-----\n abc\n -----END SSH SIGNATURE-----\n\nwords\n"))
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

func (r *repository) blob(text string) string { return r.git(text, "hash-object", "-w", "--stdin") }

// TestRewrite: on every line of history, in a merge, in a directory and as a link, a text
// stands in the blob's place; commits before it, and files beside it, are what they were.
func TestRewrite(t *testing.T) {
	r := newRepository(t)
	secret, fine := r.blob("secret"), r.blob("fine")
	dir := r.git("100755 blob "+secret+"\tkey\n100644 blob "+fine+"\tother\n", "mktree")
	first := r.commit("100644 blob "+fine+"\ta\n", "")
	left := r.commit("100644 blob "+fine+"\ta\n040000 tree "+dir+"\tdeep\n", "parent "+first+"\n")
	right := r.commit("100644 blob "+fine+"\ta\n120000 blob "+secret+"\tlink\n", "parent "+first+"\n")
	merged := r.commit("100644 blob "+fine+"\ta\n100644 blob "+secret+"\tnew\n", "parent "+left+"\nparent "+right+"\n")
	clean := r.commit("100644 blob "+fine+"\ta\n", "parent "+merged+"\n")
	for ref, id := range map[string]string{"refs/heads/main": clean, "refs/heads/agent/D-1": right, "refs/tags/v1": merged, "refs/ward/last-good": left, "refs/ward/boot/before/1": left, "refs/heads/old": first} {
		r.git("", "update-ref", ref, id)
	}
	done, err := Run(t.Context(), r.Repo, Request{Files: []string{left + ":deep/key"}, Why: "a key", Time: time.Unix(1, 0)})
	if err != nil || done.Commits != 4 || len(done.Refs) != 5 || len(done.Objects) != 1 || done.Objects[0].Path != "deep/key" {
		t.Fatal(err, done)
	}
	if r.git("", "rev-parse", "old") != first || r.git("", "rev-parse", "main~2") == left || r.git("", "rev-parse", "main~3") != first {
		t.Error("not as it should be: ", r.git("", "log", "--graph", "--oneline", "--all"))
	}
	stone := "100644 blob " + done.Objects[0].Stone
	for file, want := range map[string]string{
		"refs/ward/last-good deep/key": strings.Replace(stone, "100644", "100755", 1), "refs/ward/last-good deep/other": "100644 blob " + fine,
		"agent/D-1 link": stone, "v1 new": stone, "main~1^2 link": stone,
	} {
		rev, path, _ := strings.Cut(file, " ")
		if got := r.git("", "ls-tree", rev, path); !strings.HasPrefix(got, want+"\t") {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
	if text := r.git("", "cat-file", "commit", "main"); strings.Contains(text, "SIGNATURE") || !strings.HasSuffix(text, "\n\nwords") {
		t.Error(text)
	}
	if has := r.git("", "rev-list", "--all", "--objects"); strings.Contains(has, secret) {
		t.Error("a ref leads to it")
	}
	r.git("", "fsck", "--strict", "--no-dangling")
	batch := r.Batch(t.Context())
	defer batch.Close()
	chain, err := audit.ReadChain(t.Context(), r.Repo, batch)
	if err != nil || len(chain) != 1 || len(chain[0].Refs) != 3 { // the host's own is nobody's push
		t.Fatal(err, chain)
	}
	stoned, err := audit.ReadTombstone(batch, chain[0].Tombstone)
	if err != nil || stoned.Why != "a key" || stoned.Commits[clean] != r.git("", "rev-parse", "main") || len(stoned.Commits) != 4 || stoned.Objects[0].Blob != secret {
		t.Errorf("%v %+v", err, stoned)
	}
}

// TestRefuses: what cannot be done changes nothing.
func TestRefuses(t *testing.T) {
	r := newRepository(t)
	secret := r.blob("secret")
	tip := r.commit("100644 blob "+secret+"\tkey\n", "")
	for name, c := range map[string]struct {
		ref, file, want string
		refused         bool
	}{
		"at a tip":       {"refs/heads/main", secret, "main still has key", true},
		"a forge's":      {"refs/pull/1/head", secret, "refs/pull/1/head has it, which is no branch", true},
		"nowhere":        {"refs/heads/agent/x", r.blob("never pushed"), "no branch and no record has it", true},
		"no such file":   {"refs/heads/agent/x", "main:nothing", "names nothing that is stored", false},
		"not a file":     {"refs/heads/agent/x", tip, "is a commit, not a file", false},
		"like an option": {"refs/heads/agent/x", "--all", "names nothing that is stored", false},
	} {
		r.git("", "update-ref", c.ref, tip)
		before := r.git("", "for-each-ref")
		_, err := Run(t.Context(), r.Repo, Request{Files: []string{c.file}, Why: "x", Time: time.Unix(1, 0)})
		var refused *Refused
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, &refused) != c.refused || r.git("", "for-each-ref") != before {
			t.Errorf("%s: %v", name, err)
		}
		r.git("", "update-ref", "-d", c.ref)
	}
}
