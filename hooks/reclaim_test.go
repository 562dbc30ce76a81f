package hooks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/failpoint"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// crowd are people and agents who push to one repository, each from a clone of their own.
type crowd struct {
	*gittest.Pair
	mu     sync.Mutex
	people []string // tips that people's pushes brought
}

// member is one of them.
type member struct {
	*crowd
	random *rand.Rand
	dir    string
	env    []string // an agent's token; nil for a person
	name   string
}

func (m *member) git(args ...string) (string, error) {
	return m.Try(m.dir, m.env, "", "git", args...)
}

// content is one of few texts, so that what one deletes another one brings again, and of
// some size, so that pushes of many files come as packs.
func (m *member) content() string {
	return strings.Repeat(fmt.Sprintf("text %d\n", m.random.Intn(12)), 200)
}

// act makes one push: a branch, a rewritten one, a tag, a deletion.
func (m *member) act(i int) {
	branch := fmt.Sprintf("%s-%d", m.name, m.random.Intn(3))
	if m.random.Intn(4) == 0 {
		m.git("push", "--quiet", "origin", "--delete", branch)
		return
	}
	start := "origin/main"
	if m.random.Intn(2) == 0 { // on top of what somebody else has, or had
		m.git("fetch", "--quiet", "--prune")
		if out, _ := m.git("for-each-ref", "--format=%(objectname)", "refs/remotes/origin"); out != "" {
			tips := strings.Fields(out)
			start = tips[m.random.Intn(len(tips))]
		}
	}
	m.git("checkout", "--quiet", "--force", "--detach", start)
	for range 1 + m.random.Intn(2)*150 { // a pack, or loose objects
		name := filepath.Join(m.dir, fmt.Sprintf("d%d/f%d", m.random.Intn(5), m.random.Intn(100)))
		os.MkdirAll(filepath.Dir(name), 0o755)
		os.WriteFile(name, []byte(m.content()), 0o644)
	}
	m.git("add", "--all")
	m.git("commit", "--quiet", "--allow-empty", "--message", fmt.Sprintf("%s %d", m.name, i))
	refspec := "+HEAD:refs/heads/" + branch
	if m.env == nil && m.random.Intn(3) == 0 {
		refspec = "+HEAD:refs/tags/" + strings.ReplaceAll(branch, "/", "-")
	}
	if _, err := m.git("push", "--quiet", "origin", refspec); err == nil && m.env == nil {
		tip, _ := m.git("rev-parse", "HEAD")
		m.mu.Lock()
		m.people = append(m.people, strings.TrimSpace(tip))
		m.mu.Unlock()
	}
}

// join makes a clone for one.
func (c *crowd) join(seed int64, name string, env []string) *member {
	c.T.Helper()
	m := &member{crowd: c, random: rand.New(rand.NewSource(seed)), dir: filepath.Join(c.T.TempDir(), "clone"), env: env, name: name}
	c.Run(c.Bare, "git", "clone", "--quiet", c.Bare, m.dir)
	return m
}

// TestReclaimKilled: wherever maintenance is killed while it frees what the agent deleted,
// what refs lead to is there, and the next run brings it to its end and leaves nothing.
func TestReclaimKilled(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	branch := func(name string, files int) {
		p.Git("switch", "--quiet", "--create", name, "main")
		for i := range files {
			p.Write(fmt.Sprintf("d/%s/%d", filepath.Base(name), i), fmt.Sprint(name, i))
		}
		p.Git("add", "--all")
		p.Git("commit", "--quiet", "--message", name)
	}
	push := func(refspecs ...string) {
		if out, err := p.AgentPush(refspecs...); err != nil {
			t.Fatal(err, out)
		}
	}
	p.Commit("f", "1")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	branch("agent/keep", 3)
	branch("agent/gone", 3)
	push("agent/keep", "agent/gone")
	p.Run(p.Bare, "git-ward", "maintain") // one pack with both, and what is made of it
	branch("agent/loose", 1)
	push("agent/loose")
	gone := strings.Fields(p.Git("rev-list", "--objects", "--no-object-names", "agent/gone", "agent/loose", "^main"))
	push("--delete", "agent/gone", "agent/loose")

	whole := p.Bare
	defer func() { p.Bare = whole }()
	for _, point := range []string{
		"forgotten", "listed", "index-gone", "pack-file-gone", "pack-gone", "object-gone", "taken",
	} {
		p.Bare = filepath.Join(t.TempDir(), "remote.git")
		p.Run(whole, "cp", "--archive", whole, p.Bare)
		killedAt(t, p.Command(p.Bare, nil, "git-ward", "maintain", "--reclaim"), "maintain/"+point)
		p.Run(p.Bare, "git", "rev-list", "--objects", "--quiet", "--all")
		p.Run(p.Bare, "git-ward", "maintain", "--reclaim")
		p.Fsck()
		for _, id := range gone {
			if out, err := p.Try(p.Bare, nil, "", "git", "cat-file", "-e", id); err == nil {
				t.Errorf("%s: %s stays %s", point, id, out)
			}
		}
		p.Run(p.Bare, "git", "cat-file", "-e", "agent/keep:d/keep/2")
		if _, err := os.Lstat(filepath.Join(p.Bare, "ward/maintain.going")); err == nil {
			t.Errorf("%s: the list of what was to go stays", point)
		}
		packs, _ := filepath.Glob(filepath.Join(p.Bare, "objects/pack/*.pack"))
		for _, pack := range packs {
			if _, err := os.Lstat(strings.TrimSuffix(pack, "pack") + "idx"); err != nil {
				t.Errorf("%s: %s has no index, and nobody removes it", point, filepath.Base(pack))
			}
		}
	}
}

// TestReclaimLosesNothing: while agents and people push and delete at random, with few
// texts that all of them share, maintenance frees what the agents deleted, again and again
// and killed at random. Afterwards git and Ward find the repository whole, and all that
// people's pushes, a forge, an index and a work tree ever had there is there.
func TestReclaimLosesNothing(t *testing.T) {
	tier.Full(t, "three who push at random beside maintenance that is killed at random moments")
	p := newPair(t)
	c := &crowd{Pair: p}
	seed := int64(tier.Seed(t))
	p.Commit("f", "1")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	// What stands in the repository besides branches of pushes.
	blob, _ := p.Try(p.Bare, nil, strings.Repeat("text 3\n", 200), "git", "hash-object", "-w", "--stdin")
	p.Run(p.Bare, "git", "update-index", "--add", "--cacheinfo", "100644,"+strings.TrimSpace(blob)+",staged")
	tree := filepath.Join(t.TempDir(), "tree")
	p.Run(p.Bare, "git", "worktree", "add", "--quiet", "--detach", tree, "main")
	p.Try(tree, nil, "", "git", "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "--quiet", "--allow-empty", "-m", "in a work tree")
	inTree, _ := p.Try(tree, nil, "", "git", "rev-parse", "HEAD")

	var pushing, freeing sync.WaitGroup
	members := []*member{c.join(seed, "agent/a", nil), c.join(seed+1, "agent/b", nil), c.join(seed+2, "person", nil)}
	for i, m := range members {
		pushing.Go(func() {
			for n := range 14 {
				if i < 2 { // a token is for one push
					m.env, _ = gittest.AgentToken(p.Bare)
				}
				m.act(n)
				if i == 2 && n%4 == 0 { // a forge moves its own refs past the hooks
					tip := p.Run(p.Bare, "git", "rev-parse", "main")
					p.Run(p.Bare, "git", "update-ref", fmt.Sprintf("refs/pull/%d/head", n), strings.TrimSpace(tip))
				}
			}
		})
	}
	ctx, stop := context.WithCancel(t.Context())
	freed, runs, killed := 0, 0, 0
	freeing.Go(func() {
		random := rand.New(rand.NewSource(seed + 3))
		for ctx.Err() == nil {
			cmd := p.Command(p.Bare, nil, "git-ward", "maintain", "--reclaim")
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Error(err)
				return
			}
			if random.Intn(3) == 0 {
				time.Sleep(time.Duration(random.Intn(600)) * time.Millisecond) // any moment: that is the test
				cmd.Process.Kill()
			}
			err := await.Exit(t, cmd)
			runs++
			if cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
				killed++
			} else if err != nil && !strings.Contains(out.String(), "wait for one another") {
				t.Errorf("maintain: %v\n%s", err, &out)
			}
			freed += freedIn(out.String())
		}
	})
	pushing.Wait()
	stop()
	freeing.Wait()
	// The last of it: each agent's branches go.
	refs := strings.Fields(p.Run(p.Bare, "git", "for-each-ref", "--format=%(refname)", "refs/heads/agent/"))
	for _, ref := range refs {
		if out, err := p.AgentPush("--delete", ref); err != nil {
			t.Error(err, out)
		}
	}
	out := p.Run(p.Bare, "git-ward", "maintain", "--reclaim")
	freed += freedIn(out)
	t.Logf("%d runs of maintenance, %d killed, %d objects freed, %d tips of people; at last: %s", runs, killed, freed, len(c.people), out)
	if freed == 0 || len(c.people) == 0 {
		t.Error("nothing was freed, or nobody pushed: the test proves nothing")
	}
	p.Fsck()
	for _, tip := range append(c.people, strings.TrimSpace(inTree)) {
		p.Run(p.Bare, "git", "rev-list", "--objects", "--quiet", tip)
	}
	p.Run(p.Bare, "git", "cat-file", "-e", strings.TrimSpace(blob))
}

var freedWords = regexp.MustCompile(`freed (\d+) object`)

func freedIn(out string) (n int) {
	if m := freedWords.FindStringSubmatch(out); m != nil {
		fmt.Sscan(m[1], &n)
	}
	return n
}

// shared pushes a branch of the agent's and deletes it, and returns a commit that brings
// the same file again: git stores an object once, and a push of one that is there does not.
func shared(p *gittest.Pair, branch string) {
	p.T.Helper()
	p.Git("switch", "--quiet", "--create", branch, "origin/main")
	p.Commit("file", noise(20_000))
	if out, err := p.AgentPush("HEAD"); err != nil {
		p.T.Fatal(err, out)
	}
	if out, err := p.AgentPush("--delete", branch); err != nil {
		p.T.Fatal(err, out)
	}
	p.Git("commit", "--quiet", "--amend", "--message", "the same file in another commit")
}

// TestReclaimWaitsForAdmitted: a push that was admitted, and whose refs have not moved yet,
// counts on objects that are about to be freed. Maintenance waits, and sees what it needs.
func TestReclaimWaitsForAdmitted(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.Commit("f", "1")
	p.Push("main")
	p.Git("fetch", "--quiet")
	shared(p, "agent/x")
	hook := filepath.Join(p.Bare, "hooks/reference-transaction")
	// Held between the admission and the move until maintenance has had its time.
	gittest.Program(t, hook, "#!/bin/sh\ngrep -q agent/y || exit 0\ntouch ward/held; until [ -e ward/go ]; do sleep 0.01; done\n")
	pushed := make(chan error)
	go func() {
		out, err := p.AgentPush("HEAD:refs/heads/agent/y")
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		pushed <- err
	}()
	await.True(t, "the push is held before it moves its ref", stands(filepath.Join(p.Bare, "ward/held")))
	// Maintenance is held, too, when it waits and has looked a third time.
	waits := filepath.Join(t.TempDir(), "waits")
	freed := make(chan string, 1)
	go func() {
		out, err := p.Try(p.Bare, []string{failpoint.Var + "=maintain/waits#3=hold:" + waits}, "", "git-ward", "maintain", "--reclaim")
		freed <- fmt.Sprint(err, out)
	}()
	await.True(t, "maintenance waits", func() bool { return stands(waits)() || len(freed) > 0 })
	if len(freed) > 0 {
		t.Error("it did not wait")
	}
	os.Remove(waits)
	if err := os.WriteFile(filepath.Join(p.Bare, "ward/go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-pushed; err != nil {
		t.Fatal(err)
	}
	t.Log(<-freed)
	os.Remove(hook)
	p.Fsck()
	p.Run(p.Bare, "git", "cat-file", "-e", "refs/heads/agent/y:file")
}

// TestReclaimLeavesWhatIsUnderWay: what a merge or a fetch in a worktree of the repository has
// noted stays, and the merge comes to its end.
func TestReclaimLeavesWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.Commit("f", "1")
	p.Push("main")
	p.Git("fetch", "--quiet")
	p.Git("checkout", "--quiet", "--detach")
	p.Commit("file", "x")
	if out, err := p.AgentPush("HEAD:refs/heads/agent/x"); err != nil {
		t.Fatal(err, out)
	}
	tree := filepath.Join(filepath.Dir(p.Bare), "tree")
	p.Run(p.Bare, "git", "worktree", "add", "--quiet", "-b", "mine", tree, "main")
	p.Run(tree, "git", "merge", "--quiet", "--no-commit", "--no-ff", "agent/x")
	if out, err := p.AgentPush(":refs/heads/agent/x"); err != nil {
		t.Fatal(err, out)
	}
	p.Run(p.Bare, "git-ward", "maintain", "--reclaim")
	p.Run(tree, "git", "commit", "--quiet", "--message", "merged")
	p.Run(tree, "git", "cat-file", "-e", "mine^2:file")
	p.Run(p.Bare, "git", "fsck", "--strict", "--no-dangling")
}

// TestFreedWhileAPushComes: what a push found when git unpacked it, and is gone when it is
// judged, makes it one to send again, and the second time it brings everything.
func TestFreedWhileAPushComes(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.Commit("f", "1")
	p.Push("main")
	p.Git("fetch", "--quiet")
	shared(p, "agent/x")
	// git has looked whether all is there, and Ward has not begun.
	restore := standIn(p, "pre-receive", "touch ward/held; until [ -e ward/go ]; do sleep 0.01; done; exec WARD\n")
	pushed := make(chan string)
	go func() {
		out, err := p.AgentPush("HEAD:refs/heads/agent/y")
		pushed <- fmt.Sprint(err, out)
	}()
	await.True(t, "the push is held before Ward judges it", stands(filepath.Join(p.Bare, "ward/held")))
	// Git has marked what it found, a while ago.
	old := time.Now().Add(-time.Hour)
	err := filepath.WalkDir(filepath.Join(p.Bare, "objects"), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return nil
		}
		return errors.Join(err, os.Chtimes(path, old, old))
	})
	if err != nil {
		t.Fatal(err)
	}
	if out := p.Run(p.Bare, "git-ward", "maintain", "--reclaim"); !strings.Contains(out, "freed ") {
		t.Error("nothing was freed: ", out)
	}
	if err := os.WriteFile(filepath.Join(p.Bare, "ward/go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out := <-pushed; !strings.Contains(out, "push/freed") || !strings.Contains(out, "push again") {
		t.Errorf("%s", out)
	}
	restore()
	if out, err := p.AgentPush("HEAD:refs/heads/agent/y"); err != nil {
		t.Fatal(err, out)
	}
	p.Fsck()
}
