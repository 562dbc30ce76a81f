package worker

import (
	"context"
	"errors"
	"fmt"
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
	blob := git(benchDirective, "hash-object", "-w", "--stdin")
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

// breaks is a solver that leaves no repository behind: part is what it removes.
type breaks struct {
	ending
	part string
}

func (b *breaks) Solve(context.Context, string) (interaction.Done, error) {
	return interaction.Done{}, errors.Join(os.RemoveAll(b.part), b.err)
}

// TestSingleLost: work without a unit whose repository is gone or broken ends with a reason, which says
// what became of the work, and no other repository is made in its place. A process that is told to end
// gives no reason.
func TestSingleLost(t *testing.T) {
	for what, c := range map[string]struct {
		part string
		err  error
		over bool // the process is to end
		kind stop.Kind
		says string
	}{
		"nothing":          {".git", nil, false, stop.Unfinished, "left no repository behind"},
		"its own end":      {".git", stop.New(stop.Unfinished, "It gave up."), false, stop.Unfinished, "It gave up. "},
		"its own question": {".git", stop.New(stop.Asked, "Which one?"), false, stop.Asked, "Which one?"},
		"a failure":        {".git", errors.New("no pipe"), false, stop.Unfinished, "left no repository behind"},
		"broken":           {".git/refs", stop.New(stop.Spent, "It took too long."), false, stop.Spent, "It took too long. "},
		"the process ends": {".git", context.Canceled, true, stop.None, "context canceled"},
	} {
		work, _, git := newSingle(t)
		f := filepath.Join(work.work.Dir(), "f")
		if err := os.WriteFile(f, []byte("so far\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if c.over {
			cancel()
		}
		err := work.solve(ctx, &breaks{ending{err: c.err}, filepath.Join(work.work.Dir(), c.part)})
		why := fmt.Sprint(err)
		if ended := stop.Of(err); ended != nil {
			why = ended.Why
		}
		if stop.KindOf(err) != c.kind || !strings.HasPrefix(strings.TrimPrefix(why, "the worker "), c.says) || !strings.Contains(why, allLost) || strings.Contains(why, "so far") {
			t.Errorf("%s: %v: %s", what, stop.KindOf(err), why)
		}
		cancel()
		if _, err := os.Stat(f); err != nil || strings.Contains(git("", "for-each-ref"), "agent/") {
			t.Errorf("%s: the tree was made anew: %v", what, err)
		}
	}
}
