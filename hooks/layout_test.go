package hooks_test

import (
	"errors"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/failpoint"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// delegate puts Ward's hooks below a shell script of their name, as forges do:
// hooks/NAME runs hooks/NAME.d/*, with the input by a pipe.
func delegate(p *gittest.Pair) {
	p.T.Helper()
	const script = `#!/usr/bin/env bash
data=$(cat)
for hook in "$GIT_DIR"/hooks/NAME.d/*; do
	test -x "$hook" || continue
	echo "$data" | "$hook" || exit 1
done
`
	for _, name := range []string{"pre-receive", "post-receive"} {
		hook := filepath.Join(p.Bare, "hooks", name)
		if err := os.Mkdir(hook+".d", 0o755); err != nil {
			p.T.Fatal(err)
		}
		if err := os.Rename(hook, filepath.Join(hook+".d", name)); err != nil {
			p.T.Fatal(err)
		}
		gittest.Program(p.T, hook, strings.ReplaceAll(script, "NAME", name))
	}
}

// TestDelegate: below a delegate, pre- and post-receive have different parents; the
// push is recorded all the same, also when its post-receive is killed.
func TestDelegate(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	delegate(p)
	p.Commit("f", "1")
	if out, err := p.Push("main"); err != nil || !strings.Contains(out, "push 2") {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := p.AgentPush("HEAD:refs/heads/agent/a", "HEAD:refs/heads/agent/b"); err != nil || !strings.Contains(out, "push 3") {
		t.Fatalf("%v\n%s", err, out)
	}
	p.Fsck()
	hook := filepath.Join(p.Bare, "hooks/post-receive.d/post-receive")
	if err := os.Rename(hook, hook+".off"); err != nil {
		t.Fatal(err)
	}
	p.Commit("f", "2")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	if err := os.Chmod(hook+".off", 0o644); err != nil { // else the delegate runs it
		t.Fatal(err)
	}
	if out, err := p.Try(p.Bare, nil, "", "git-ward", "fsck"); err != nil && !strings.Contains(out, "1 push ended without a record") {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Chmod(hook+".off", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(hook+".off", hook); err != nil {
		t.Fatal(err)
	}
	stillWorks(t, p)
	everyMoveOnce(t, p, "refs/heads/main")
}

// everyMoveOnce compares a ref's reflog with the audit.
func everyMoveOnce(t *testing.T, p *gittest.Pair, ref string) {
	t.Helper()
	moves := map[string]int{}
	log, err := os.ReadFile(filepath.Join(p.Bare, "logs", ref))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(log)) {
		moves[line[:81]]++
	}
	records := p.Run(p.Bare, "git-ward", "log", "--json")
	for move := range moves {
		old, new, _ := strings.Cut(move, " ")
		for _, form := range []string{`"ref":%q,"old":%q,"new":%q,"applied":true`, `"applied":true,"new":%[3]q,"old":%[2]q,"ref":%[1]q`} {
			moves[move] -= strings.Count(records, fmt.Sprintf(form, ref, old, new))
		}
	}
	for move, n := range moves {
		if n != 0 {
			t.Errorf("%s: the move %s is recorded %d times too little", ref, move, n)
		}
	}
}

// server is a forge's own receiver: one process that lives long, writes objects
// itself, runs both hooks as its children, and moves the refs between them.
type server struct {
	*gittest.Pair
}

// newServer is a repository whose settings name the server's variable (ID-2).
func newServer(t *testing.T) server {
	p := newPair(t)
	p.Run(p.Bare, "sed", "-i", `s/^from = .*/from = "GL_USERNAME"/; s/^pm = .*/pm = ["pat"]/`, "ward/config.toml")
	p.Env = append(p.Env, "GL_USERNAME=pat")
	return server{p}
}

// hook runs one of the hooks. kill ends it by force after a while; point, at a failpoint.
func (s server) hook(name, lines, point string, kill time.Duration) error {
	cmd := exec.Command(filepath.Join(s.Bare, "hooks", name))
	cmd.Dir, cmd.Env = s.Bare, append(append([]string{}, s.Env...), "GIT_DIR=.", "GL_ID=key-1", failpoint.Var+"="+point+"=kill")
	cmd.Stdin = strings.NewReader(lines)
	if err := cmd.Start(); err != nil {
		return err
	}
	if kill > 0 {
		time.Sleep(kill) // any moment of the hook: that is what TestLongLivedParent tries
		cmd.Process.Kill()
	}
	return await.Exit(s.T, cmd)
}

// push is one push from end to end; killPre and killPost end the hooks early.
func (s server) push(ref, old, new string, killPre, killPost time.Duration) error {
	lines := fmt.Sprintf("%s %s %s\n", old, new, ref)
	if err := s.hook("pre-receive", lines, "", killPre); err != nil {
		return err
	}
	if err := s.move(ref, old, new); err != nil {
		return err
	}
	return s.hook("post-receive", lines, "", killPost)
}

// move moves a ref as the server does between the hooks.
func (s server) move(ref, old, new string) error {
	out, err := s.Try(s.Bare, nil, "", "git", "update-ref", "-m", "push", ref, new, old)
	if err != nil {
		return errors.New(out)
	}
	return nil
}

// commits makes n commits in a row in the bare repository, without a ref.
func (s server) commits(n int) []string {
	ids := []string{strings.TrimSpace(s.Run(s.Bare, "git", "rev-parse", "refs/heads/main"))}
	for i := range n {
		ids = append(ids, strings.TrimSpace(s.Run(s.Bare, "git", "commit-tree", "-p", ids[i], "-m", fmt.Sprint(i), ids[0]+"^{tree}")))
	}
	return ids
}

// age makes the files of pending pushes older than any server takes.
func (s server) age() {
	s.T.Helper()
	files, err := filepath.Glob(filepath.Join(s.Bare, "ward/pending/*.json"))
	if err != nil {
		s.T.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for _, f := range files {
		os.Chtimes(f, old, old)
	}
}

// TestLongLivedParent: a server that runs the hooks itself is the parent of all of
// them, and lives on. Each push is recorded once, whichever of its hooks die.
func TestLongLivedParent(t *testing.T) {
	tier.Full(t, "seventy pushes whose hooks are killed at random moments; TestServerKilledAt kills at each point")
	s := newServer(t)
	ids := s.commits(12)
	seed := int64(tier.Seed(t))
	var wait sync.WaitGroup
	for b := range 6 { // several pushes at a time, some of the very same moves
		random := rand.New(rand.NewSource(seed + int64(b)))
		wait.Go(func() {
			ref := fmt.Sprintf("refs/heads/topic%d", b/2)
			for range 12 {
				old, err := git.Open(s.Bare).Ref(t.Context(), ref)
				if err != nil {
					t.Error(err)
					return
				}
				next := slices.Index(ids, old) + 1 // of both that push to it, one makes the step
				if next = max(next, 1); next == len(ids) {
					return
				}
				var killPre, killPost time.Duration
				switch random.Intn(4) {
				case 0:
					killPost = time.Duration(1+random.Intn(20_000)) * time.Microsecond
				case 1:
					killPre = time.Duration(1+random.Intn(20_000)) * time.Microsecond
				}
				s.push(ref, old, ids[next], killPre, killPost)
			}
		})
	}
	wait.Wait()
	s.age()
	s.Run(s.Bare, "git-ward", "fsck", "--repair")
	stillWorks(t, s.Pair)
	for b := range 3 {
		everyMoveOnce(t, s.Pair, fmt.Sprintf("refs/heads/topic%d", b))
	}
}

// TestServerKilledAt is the same with a kill at each point of either hook, one push after
// the other.
func TestServerKilledAt(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	const ref = "refs/heads/topic"
	points := []string{"receive/arrived", "receive/admitted", "receive/moved", "audit/built", "audit/recorded"}
	ids := s.commits(len(points))
	old := git.Zero
	for i, point := range points {
		lines := fmt.Sprintf("%s %s %s\n", old, ids[i+1], ref)
		err := s.hook("pre-receive", lines, point, 0)
		if before := i < 2; killed(err) != before || !before && err != nil {
			t.Fatalf("%s: %v", point, err)
		}
		if err == nil {
			if err := s.move(ref, old, ids[i+1]); err != nil {
				t.Fatal(err)
			}
			old = ids[i+1]
			if err := s.hook("post-receive", lines, point, 0); !killed(err) {
				t.Fatalf("no hook came to %s: %v", point, err)
			}
		}
		s.age()
		s.Run(s.Bare, "git-ward", "fsck", "--repair")
	}
	stillWorks(t, s.Pair)
	everyMoveOnce(t, s.Pair, ref)
}

// TestSlowServer: a push that another one has recorded, because its server took so
// long, is not recorded twice when its post-receive comes at last; one that was taken
// for lost is.
func TestSlowServer(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	ids := s.commits(2)
	for i, moved := range []bool{true, false} {
		ref := fmt.Sprintf("refs/heads/slow%d", i)
		lines := fmt.Sprintf("%s %s %s\n", git.Zero, ids[1+i], ref)
		move := func() {
			if err := s.move(ref, git.Zero, ids[1+i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.hook("pre-receive", lines, "", 0); err != nil {
			t.Fatal(err)
		}
		if moved {
			move()
		}
		s.Run(s.Bare, "git-ward", "fsck") // it is under way, and nothing is wrong
		s.age()
		s.Run(s.Bare, "git-ward", "fsck", "--repair")
		if !moved {
			move()
		}
		if err := s.hook("post-receive", lines, "", 0); err != nil {
			t.Fatal(err)
		}
		everyMoveOnce(t, s.Pair, ref)
	}
	stillWorks(t, s.Pair)
}
