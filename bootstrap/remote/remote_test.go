package remote_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/bootstrap/remote"
	"git-ward/internal/config"
	"git-ward/protocols/boot"
)

// repository is a bare repository, and a directory whose files are committed to it.
type repository struct {
	t    *testing.T
	bare string
	work string
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	r := &repository{t, filepath.Join(t.TempDir(), "remote.git"), t.TempDir()}
	r.git("init", "--quiet", "--bare", "--initial-branch=main")
	return r
}

func (r *repository) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.work
	cmd.Env = append(os.Environ(), "GIT_DIR="+r.bare, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Pat", "GIT_AUTHOR_EMAIL=pat@example.org", "GIT_COMMITTER_NAME=Pat", "GIT_COMMITTER_EMAIL=pat@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit commits a file on main.
func (r *repository) commit(name, text string) string {
	r.t.Helper()
	path := filepath.Join(r.work, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		r.t.Fatal(err)
	}
	r.git("--work-tree=.", "add", "--all")
	r.git("--work-tree=.", "commit", "--quiet", "-m", name)
	return r.git("rev-parse", "HEAD")
}

// TestFind: a signal's name leads to a commit, or to nothing, and never to an
// expression.
func TestFind(t *testing.T) {
	r := newRepository(t)
	first := r.commit("a", "1")
	second := r.commit("a", "2")
	r.git("tag", "-a", "-m", "x", "v1", first)
	for ref, commit := range map[string]string{"refs/heads/agent/D-1": first, "refs/ward/last-good": first, "refs/tags/agent/D-1": second} {
		r.git("update-ref", ref, commit)
	}
	blob := r.git("rev-parse", first+":a")
	w := remote.Open(r.bare, config.Default().Control)
	for name, want := range map[string]struct{ branch, revision string }{
		"main":                {second, second},
		"agent/D-1":           {first, first}, // the branch, not the tag
		"v1":                  {"", first},
		"refs/ward/last-good": {"", first},
		"refs/tags/v1":        {"", first},
		first:                 {"", first},
		first[:7]:             {"", first},
		first[:6]:             {"", ""},
		blob:                  {"", ""},
		"nowhere":             {"", ""},
		"HEAD":                {"", ""},
		"0123456789":          {"", ""},
	} {
		branch, err := w.Branch(t.Context(), name)
		if branch != want.branch || (err != nil) != (branch == "") || err != nil && !errors.Is(err, remote.ErrNotFound) {
			t.Errorf("branch %s: %s %v", name, branch, err)
		}
		revision, err := w.Revision(t.Context(), name)
		if revision != want.revision || (err != nil) != (revision == "") || err != nil && !errors.Is(err, remote.ErrNotFound) {
			t.Errorf("revision %s: %s %v", name, revision, err)
		}
	}
	if id, err := w.Commit(t.Context(), boot.LastGood); id != first || err != nil {
		t.Errorf("%s %v", id, err)
	}
	if id, err := w.Commit(t.Context(), "refs/ward/nothing"); id != "" || err != nil {
		t.Errorf("%s %v", id, err)
	}
}

// TestCode: what is said on main does not make it another program; all else does.
func TestCode(t *testing.T) {
	r := newRepository(t)
	w := remote.Open(r.bare, config.Default().Control)
	code := func(commit string) string {
		t.Helper()
		code, err := w.Code(t.Context(), commit)
		if err != nil {
			t.Fatal(err)
		}
		return code
	}
	old := code(r.commit("agent.sh", "1"))
	for _, name := range []string{"COMMS.md", "LEARNINGS.md", "evidence/x"} {
		if watch := w.Watch(w.Main); code(r.commit(name, "words")) != old || !watch.Moved() {
			t.Errorf("%s is code, or main did not move", name)
		}
	}
	if code(r.commit("docs/x", "words")) == old || code(r.commit("agent.sh", "2")) == old {
		t.Error("it is the same program")
	}
	if _, err := w.Code(t.Context(), strings.Repeat("0", 40)); err == nil {
		t.Error("no commit has code")
	}
}

// TestAdopted: in an adopted project the word main is the project's branch, whatever its
// name, each of the two branches has its mark, and every file is the program's.
func TestAdopted(t *testing.T) {
	r := newRepository(t)
	first := r.commit("a", "1")
	r.git("update-ref", "refs/heads/trunk", first)
	second := r.commit("COMMS.md", "the project's own")
	w := remote.Open(r.bare, config.Control{Branch: "ward", Project: "trunk"})
	for _, name := range []string{"main", "trunk"} {
		branch, err := w.Branch(t.Context(), name)
		revision, alsoErr := w.Revision(t.Context(), name)
		if branch != first || revision != first || err != nil || alsoErr != nil {
			t.Errorf("%s: %s %s, %v %v", name, branch, revision, err, alsoErr)
		}
	}
	if w.Main != "refs/heads/trunk" || w.Control != "refs/heads/ward" {
		t.Error(w.Main, w.Control)
	}
	one, err := w.Code(t.Context(), first)
	other, alsoErr := w.Code(t.Context(), second)
	if err != nil || alsoErr != nil || one == other {
		t.Errorf("%s %s, %v %v", one, other, err, alsoErr)
	}
}

// TestGood: what held is main's still; what was taken back from main by force is not.
func TestGood(t *testing.T) {
	r := newRepository(t)
	one, two := r.commit("a", "1"), r.commit("a", "2")
	r.git("update-ref", boot.LastGood, two)
	r.git("update-ref", boot.GoodRef(1), one)
	for _, tip := range []string{two, one} {
		r.git("update-ref", "refs/heads/main", tip)
		good, err := remote.Open(r.bare, config.Default().Control).Good(t.Context())
		if want := map[string]string{two: two + " " + one, one: one}[tip]; err != nil || strings.Join(good, " ") != want {
			t.Errorf("main at %s: %q, %v; not %s", tip, good, err, want)
		}
	}
}

// TestIsWard is by the files of main.
func TestIsWard(t *testing.T) {
	r := newRepository(t)
	w := remote.Open(r.bare, config.Default().Control)
	for i, name := range []string{"scripts/build", "scripts/test", "agent/cmd/ward-agent/main.go", "bootstrap/cmd/ward-watcher/main.go"} {
		if w.IsWard(t.Context()) {
			t.Errorf("with %d of the files", i)
		}
		r.commit(name, "x")
	}
	if !w.IsWard(t.Context()) {
		t.Error("with all of the files")
	}
}
