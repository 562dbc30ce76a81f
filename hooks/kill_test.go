package hooks_test

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"git-ward/hooks/audit"
	"git-ward/hooks/push"
	"git-ward/internal/await"
	"git-ward/internal/failpoint"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// TestKilledAt kills a hook at each of its points in turn. The push after it leaves every
// push recorded once, with every move of the ref, and no trace of the killed one besides.
func TestKilledAt(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.Git("switch", "--quiet", "--create", "agent/k")
	pushes := 1 // the genesis
	push := func(ref, point string) error {
		pushes++
		token, err := gittest.AgentToken(p.Bare)
		if err != nil {
			t.Fatal(err)
		}
		p.Commit("f", fmt.Sprint(pushes))
		out, err := p.Try(p.Work, append(token, failpoint.Var+"="+point+"=kill"), "", "git", "push", "origin", "+agent/k:"+ref)
		if (point != "") != strings.Contains(out, "died of signal 9") {
			t.Errorf("killed at %q: %s", point, out)
		}
		return err
	}
	for _, c := range []struct {
		point, ref string
		refused    bool
	}{
		{"receive/arrived", "refs/heads/agent/k", true},
		{"receive/judged", "refs/heads/agent/k", true},
		{"receive/admitted", "refs/heads/agent/k", true},
		{"receive/moved", "refs/heads/agent/k", false},
		{"audit/built", "refs/heads/agent/k", false},
		{"audit/recorded", "refs/heads/agent/k", false},
		{"receive/finished", "refs/heads/agent/k", false},
		{"receive/refused", "refs/heads/no-agents", true},
		{"audit/built", "refs/heads/no-agents-2", true},
		{"audit/refusal-recorded", "refs/heads/no-agents-3", true},
	} {
		if err := push(c.ref, c.point); (err != nil) != c.refused {
			t.Errorf("%s of %s: %v", c.point, c.ref, err)
		}
		if err := push("refs/heads/agent/k", ""); err != nil {
			t.Errorf("after %s of %s: %v", c.point, c.ref, err)
		}
		if left, err := os.ReadDir(filepath.Join(p.Bare, "ward/pending")); err != nil || len(left) > 0 {
			t.Errorf("%s of %s leaves %q, %v", c.point, c.ref, left, err)
		}
	}
	p.Fsck()
	everyMoveOnce(t, p, "refs/heads/agent/k")
	if records := strings.Count(p.Run(p.Bare, "git-ward", "log", "--json"), "\n"); records != pushes {
		t.Errorf("%d records of %d pushes", records, pushes)
	}

	// Killed before its file has its name, it leaves no record, and has moved nothing; its
	// file goes when it is old.
	if err := push("refs/heads/agent/k", "audit/half-pending"); err == nil {
		t.Error("admitted")
	}
	half, err := filepath.Glob(filepath.Join(p.Bare, "ward/pending/.*.json"))
	if err != nil || len(half) != 1 {
		t.Fatal(half, err)
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(half[0], old, old); err != nil {
		t.Fatal(err)
	}
	stillWorks(t, p)
	if stands(half[0])() {
		t.Error("it stays")
	}
}

// TestReceivePackDies: a push whose receive-pack ends while its hook judges is not admitted.
// Nobody would move its refs, and maintenance waited in vain for a move (it said "was
// admitted and does not end") until ten minutes were over.
func TestReceivePackDies(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	held := filepath.Join(t.TempDir(), "held")
	p.Git("switch", "--quiet", "--create", "topic")
	p.Commit("f", "words")
	push := p.Command(p.Work, []string{failpoint.Var + "=receive/judged=hold:" + held}, "git", "push", "origin", "topic")
	if err := push.Start(); err != nil {
		t.Fatal(err)
	}
	await.True(t, "the hook has judged", stands(held))
	text, err := os.ReadFile(held)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	hook, err := audit.Identify(pid)
	if err != nil {
		t.Fatal(err)
	}
	receivePack := audit.ReceivePack(pid)
	if err := syscall.Kill(receivePack.PID, syscall.SIGKILL); err != nil {
		t.Fatal(receivePack, err)
	}
	if err := push.Wait(); err == nil {
		t.Error("the push has moved something")
	}
	await.True(t, "receive-pack has ended", func() bool { return !receivePack.Alive() })
	os.Remove(held)
	await.True(t, "the hook ends", func() bool { return !hook.Alive() })
	p.Run(p.Bare, "git-ward", "maintain")
	if record := newest(p); !strings.Contains(record, `"verdict":"refused"`) {
		t.Errorf("the push is recorded as %s", record)
	}
	stillWorks(t, p)
}

// killer sends SIGKILL to hook processes of one repository, each after a random
// part of a hook's usual life.
func killer(bare string, random *rand.Rand, stop <-chan struct{}) (killed int) {
	seen := map[int]bool{}
	for {
		select {
		case <-stop:
			return killed
		default:
		}
		entries, err := os.ReadDir("/proc")
		if err != nil {
			return killed
		}
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err != nil || seen[pid] {
				continue
			}
			process, err := os.FindProcess(pid) // this one, should its id be another's by then
			if err != nil {
				continue
			}
			exe, err := os.Readlink(filepath.Join("/proc", e.Name(), "exe"))
			if err != nil || !strings.HasPrefix(exe, bare+"/hooks/") {
				process.Release()
				continue
			}
			seen[pid] = true
			if random.Intn(2) == 0 {
				time.Sleep(time.Duration(random.Intn(12_000)) * time.Microsecond) // any moment of the hook: that is the test
				if process.Kill() == nil {
					killed++
				}
			}
			process.Release()
		}
	}
}

// TestKillHooks kills hooks at random points of many pushes. Afterwards one whole
// push must leave every move of every ref recorded exactly once.
func TestKillHooks(t *testing.T) {
	tier.Full(t, "forty pushes whose hooks are killed at random moments; TestKilledAt kills at each point")
	p := newPair(t)
	stop := make(chan struct{})
	var killed int
	var done sync.WaitGroup
	random := rand.New(rand.NewSource(int64(tier.Seed(t))))
	done.Go(func() { killed = killer(p.Bare, random, stop) })
	p.Git("switch", "--quiet", "--create", "agent/k")
	for i := range 40 {
		p.Commit("f", fmt.Sprint(i))
		p.AgentPush("+agent/k:refs/heads/agent/k")
	}
	close(stop)
	done.Wait()
	t.Logf("killed %d hooks", killed)
	if killed == 0 {
		t.Fatal("no hook was killed: the test proves nothing")
	}
	p.Commit("f", "last")
	if out, err := p.AgentPush("+agent/k:refs/heads/agent/k"); err != nil {
		t.Fatal(err, out)
	}
	p.Fsck()
	everyMoveOnce(t, p, "refs/heads/agent/k")
}

// TestKilledPostReceive is the same with certainty: a post-receive that never
// runs leaves a pending push, which fsck names and the next push records.
func TestKilledPostReceive(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	const killed = "kill -9 $$\n"
	restore := standIn(p, "post-receive", killed)
	p.Commit("f", "1")
	p.Push("main:refs/heads/killed")
	restore()
	fsckFinds(p, "fsck/pending: 1 push ended without a record")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	p.Fsck()
	if out := p.Run(p.Bare, "git-ward", "log", "--json"); strings.Count(out, "refs/heads/killed") != 1 || !strings.Contains(out, `"reconciled":true`) {
		t.Error(out)
	}

	// With --repair, nobody has to push.
	restore = standIn(p, "post-receive", killed)
	p.Push("main:refs/heads/killed2")
	restore()
	if out := p.Run(p.Bare, "git-ward", "fsck", "--repair"); !strings.Contains(out, "repaired: recorded 1 unfinished push") {
		t.Error(out)
	}
	p.Fsck()

	// A lost or meddled notes index comes back; the chain is never rewritten.
	p.Run(p.Bare, "git", "update-ref", "-d", "refs/notes/audit")
	fsckFinds(p, "fsck/notes")
	p.Run(p.Bare, "git-ward", "fsck", "--repair")
	p.Run(p.Bare, "git", "notes", "--ref=audit", "append", "-m", "forged", "refs/heads/main")
	fsckFinds(p, "a line that the chain does not")
	p.Run(p.Bare, "git-ward", "fsck", "--repair")
	p.Fsck()

	// A ref moved past the hooks is seen.
	p.Run(p.Bare, "git", "update-ref", "refs/heads/smuggled", "refs/heads/main")
	fsckFinds(p, "refs/heads/smuggled: fsck/unrecorded")
}

// TestTwins: of two pushes of the same move git lets one through. The other one's
// pending file does not record the move a second time.
func TestTwins(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	// What the other push leaves, whose receive-pack lost the race for the ref's lock.
	restore := standIn(p, "post-receive", "for f in ward/pending/*.json; do sed s/Z-/Z-f00/ $f >$(echo $f | sed s/Z-/Z-f00/); done\nexec WARD\n")
	p.Commit("f", "1")
	if out, err := p.Push("main:refs/heads/twins"); err != nil {
		t.Fatal(err, out)
	}
	restore()
	fsckFinds(p, "fsck/pending: 1 push ended without a record")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	p.Fsck()
	log := p.Run(p.Bare, "git-ward", "log", "--json")
	if strings.Count(log, `"verdict":"lost"`) != 1 || strings.Count(log, "refs/heads/twins") != 2 {
		t.Error(log)
	}
}

// TestHalfMoved: git moves the refs of a transaction one after the other, so a
// kill can leave the chain moved and the notes not. The pending file is still
// there then, and the next push completes what is missing, once.
func TestHalfMoved(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	keep := filepath.Join(t.TempDir(), "kept")
	restore := standIn(p, "post-receive", "cp -r ward/pending "+keep+"\nexec WARD\n")
	notes := p.Run(p.Bare, "git", "rev-parse", "refs/notes/audit")
	p.Commit("f", "1")
	p.Push("main:refs/heads/half")
	if err := os.CopyFS(filepath.Join(p.Bare, "ward/pending"), os.DirFS(keep)); err != nil {
		t.Fatal(err)
	}
	p.Run(p.Bare, "git", "update-ref", "refs/notes/audit", strings.TrimSpace(notes))
	restore()
	fsckFinds(p, "fsck/pending", "lacks its record")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	p.Fsck()
	if out := p.Run(p.Bare, "git-ward", "log", "--json"); strings.Count(out, "refs/heads/half") != 1 {
		t.Error(out)
	}
}

// appendRecords has writers append records about an object, all at once.
func appendRecords(t *testing.T, repo *git.Repo, object string, writers, each int) {
	t.Helper()
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() {
			batch := repo.Batch(t.Context())
			defer batch.Close()
			for i := range each {
				r := &audit.Record{Time: time.Now().UTC(), Principal: "pm", Push: fmt.Sprintf("push-%d-%d", w, i), Verdict: audit.Accepted, Rules: []string{},
					Refs: []audit.Ref{{Update: push.Update{Ref: fmt.Sprintf("refs/heads/w%d-%d", w, i), Old: git.Zero, New: object}, Applied: true}}}
				if err := appendRecord(t, repo, batch, r); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
}

// TestStaleLock: git's lock file of a process that was killed holds nobody up for
// long.
func TestStaleLock(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	lock := filepath.Join(p.Bare, "refs/ward/audit.lock")
	if err := os.WriteFile(lock, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(lock, old, old); err != nil {
		t.Fatal(err)
	}
	p.Commit("f", "x")
	if out, err := p.Push("main"); err != nil || !strings.Contains(out, "push 2") {
		t.Fatalf("%v\n%s", err, out)
	}
	p.Fsck()
}

// TestConcurrentRecords appends from 16 writers at once and loses none.
func TestConcurrentRecords(t *testing.T) {
	tier.Full(t, "sixteen writers at once")
	p := newPair(t)
	repo := git.Open(p.Bare)
	main, err := repo.Ref(t.Context(), "refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	const writers, each = 16, 25
	appendRecords(t, repo, main, writers, each)
	out := p.Run(p.Bare, "git-ward", "log", "--json")
	if n := strings.Count(out, `"push":"push-`); n != writers*each {
		t.Errorf("%d records of %d", n, writers*each)
	}
	// A note that is full gives up its oldest lines, in order, and says so.
	note := p.Run(p.Bare, "git", "notes", "--ref=audit", "show", "refs/heads/main")
	lines := strings.Split(strings.TrimSpace(note), "\n")
	var through int64
	if _, err := fmt.Sscanf(lines[0], `{"older":"refs/ward/audit","through":%d}`, &through); err != nil {
		t.Fatalf("the note does not say what it gave up (%v):\n%.200s", err, note)
	}
	if n := strings.Count(note, `"push":"push-`); n != writers*each+1-int(through) || len(note) > 64<<10 {
		t.Errorf("%d note lines after record %d, %d bytes", n, through, len(note))
	}
}

// TestConcurrentPushes pushes from 16 clones at once through both hooks.
func TestConcurrentPushes(t *testing.T) {
	tier.Full(t, "sixteen clones push at once")
	p := newPair(t)
	const pushers, each = 16, 4
	for i := range pushers {
		p.Run(filepath.Dir(p.Bare), "git", "clone", "--quiet", p.Bare, fmt.Sprintf("c%d", i))
	}
	var wait sync.WaitGroup
	for i := range pushers {
		wait.Go(func() {
			c := *p
			c.Work = filepath.Join(filepath.Dir(p.Bare), fmt.Sprintf("c%d", i))
			for k := range each {
				c.Commit("f", fmt.Sprintf("%d %d", i, k))
				if out, err := c.Push(fmt.Sprintf("HEAD:refs/heads/p%d", i)); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			}
		})
	}
	wait.Wait()
	p.Fsck()
	if out := p.Run(p.Bare, "git-ward", "fsck"); !strings.Contains(out, fmt.Sprintf("%d records, %d notes, 0 findings", pushers*each+1, pushers*each+1)) {
		t.Error(out)
	}
}
