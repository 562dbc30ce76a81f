package worker

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"git-ward/agent/interaction"
	"git-ward/agent/stop"
	"git-ward/agent/store"
	"git-ward/internal/gittest"
)

// newSingle is the work on a directive of a new remote, in which git runs.
func newSingle(t *testing.T) (work *single, bare string, git func(input string, args ...string) string) {
	t.Helper()
	bare = filepath.Join(t.TempDir(), "remote.git")
	git = func(input string, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"--git-dir=" + bare}, args...)...)
		cmd.Stdin = strings.NewReader(input)
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("", "init", "--quiet", "--bare", "--initial-branch=main")
	blob := git("# COMMS\n## Directives\n### D-1: one\n## Reports\n", "hash-object", "-w", "--stdin")
	git("", "update-ref", "refs/heads/main", git("first\n", "commit-tree", git("100644 blob "+blob+"\tCOMMS.md\n", "mktree")))
	s, err := store.Open(t.Context(), store.Options{Bare: bare, State: t.TempDir(), Executable: "/nonexistent"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Main(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, doc, err := m.Comms(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Work(t.Context(), doc.Directives[0])
	if err != nil {
		t.Fatal(err)
	}
	return &single{deps: &deps{store: s}, directive: doc.Directives[0], work: w, log: zerolog.Nop()}, bare, git
}

// TestKeep: what ended the work is what is reported, though the remote goes away between the
// push of what there is and the question whether it is there.
func TestKeep(t *testing.T) {
	work, bare, git := newSingle(t)
	err := os.WriteFile(filepath.Join(work.work.Dir(), "f"), []byte("so far\n"), 0o644)
	if err == nil {
		err = os.MkdirAll(filepath.Join(bare, "hooks"), 0o755)
	}
	if err == nil { // it is a repository until the push is over
		err = gittest.WriteProgram(filepath.Join(bare, "hooks", "post-receive"), "#!/bin/sh\nmv HEAD gone\n")
	}
	if err != nil {
		t.Fatal(err)
	}
	got := stop.Of(work.keep(t.Context(), stop.New(stop.Spent, "It took too long.")))
	if got == nil || got.Kind != stop.Spent || !strings.HasPrefix(got.Why, "It took too long. What it had so far is on agent/D-1") {
		t.Errorf("%v", got)
	}
	if err := os.Rename(filepath.Join(bare, "gone"), filepath.Join(bare, "HEAD")); err != nil {
		t.Fatal(err)
	}
	if text := git("", "show", "agent/D-1:f"); text != "so far" {
		t.Error(text)
	}
}

// breaks is a solver that leaves no repository behind.
type breaks struct {
	ending
	dir string
}

func (b *breaks) Solve(context.Context, string) (interaction.Done, error) {
	return interaction.Done{}, errors.Join(os.RemoveAll(filepath.Join(b.dir, ".git")), b.err)
}

// TestSingleLost: work without a unit whose repository is gone is not told as done, and what became
// of it is said.
func TestSingleLost(t *testing.T) {
	for what, end := range map[string]error{"nothing": nil, "its own end": stop.New(stop.Unfinished, "It gave up.")} {
		work, _, _ := newSingle(t)
		_, err := work.timely(t.Context(), &breaks{ending{err: end}, work.work.Dir()}, "")
		if err == nil || !strings.Contains(err.Error(), allLost) || stop.KindOf(err) != stop.KindOf(end) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
