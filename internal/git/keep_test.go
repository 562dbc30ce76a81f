package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/gittest"
)

// counted puts a git before the machine's that counts how often it is started, by its first
// argument that is no setting.
func counted(t *testing.T) (started func(verb string) int) {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	script := fmt.Sprintf("#!/bin/sh\necho \" $* \" >> '%s'\nexec '%s' \"$@\"\n", log, real)
	gittest.Program(t, filepath.Join(dir, "git"), script)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return func(verb string) int {
		data, err := os.ReadFile(log)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return strings.Count(string(data), " "+verb+" ")
	}
}

// packedCommits makes two commits of a file with another content each, and packs them.
func packedCommits(t *testing.T, r *Repo) (ids []string) {
	t.Helper()
	for i := range 2 {
		id, err := r.CommitFile("", "file", fmt.Append(nil, i), time.Unix(1, 0), "a commit")
		if err != nil {
			t.Fatal(err)
		}
		if err := r.UpdateRefs(t.Context(), "", RefUpdate{fmt.Sprintf("refs/heads/b%d", i), Zero, id}); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	repack(t, r)
	return ids
}

func repack(t *testing.T, r *Repo) {
	t.Helper()
	if _, err := r.Output(t.Context(), "repack", "-a", "-d", "-q"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Output(t.Context(), "prune-packed"); err != nil {
		t.Fatal(err)
	}
}

// byChild reads packed objects with a child only.
func byChild(ctx context.Context, r *Repo) *Batch {
	batch := r.Batch(ctx)
	batch.direct.mostPacked = 0
	return batch
}

func contentOf(t *testing.T, ctx context.Context, r *Repo, commit string) (string, error) {
	t.Helper()
	batch := byChild(ctx, r)
	_, data, err := batch.Read(commit+":file", 10)
	return string(data), errors.Join(err, batch.Close())
}

// TestKeep: readers one after the other share a child; one that is ended, that owes answers,
// or whose repository has other packs since, is not shared; and none is left at the end.
func TestKeep(t *testing.T) {
	started := counted(t)
	r := bare(t)
	ids := packedCommits(t, r)
	ctx, done := Keep(t.Context())
	defer done()
	for range 3 {
		for i, id := range ids {
			if got, err := contentOf(t, ctx, r, id); got != fmt.Sprint(i) || err != nil {
				t.Fatalf("%q, %v", got, err)
			}
		}
	}
	if n := started("cat-file"); n != 1 {
		t.Errorf("%d children read six times", n)
	}
	// What a reader left unread is not the next one's answer.
	batch := byChild(ctx, r)
	if err := batch.send("contents", ids[0]); err != nil {
		t.Fatal(err)
	}
	batch.Close()
	if got, err := contentOf(t, ctx, r, ids[1]); got != "1" || err != nil {
		t.Errorf("after one that was left: %q, %v", got, err)
	}
	// One whose own context ends takes its child along, and not the next one's.
	ended, cancel := context.WithCancel(ctx)
	batch = byChild(ended, r)
	if _, _, err := batch.Read(ids[0], 1<<10); err != nil {
		t.Fatal(err)
	}
	cancel()
	batch.Close()
	if got, err := contentOf(t, ctx, r, ids[1]); got != "1" || err != nil {
		t.Errorf("after one that was ended: %q, %v", got, err)
	}
	// One that somebody has ended is none to go on with.
	for _, kept := range keeperOf(ctx).readers {
		for _, r := range kept {
			killed(t, r.cmd)
		}
	}
	if got, err := contentOf(t, ctx, r, ids[1]); got != "1" || err != nil {
		t.Errorf("after one that was killed: %q, %v", got, err)
	}
	// An object that is freed is gone: a child of before would have its pack open still.
	if err := r.UpdateRefs(t.Context(), "", RefUpdate{"refs/heads/b0", ids[0], Zero}); err != nil {
		t.Fatal(err)
	}
	repack(t, r)
	if got, err := contentOf(t, ctx, r, ids[0]); !errors.Is(err, ErrMissing) {
		t.Errorf("of an object that is gone: %q, %v", got, err)
	}
	k := keeperOf(ctx)
	if len(k.readers) != 1 {
		t.Errorf("%d children are kept", len(k.readers))
	}
	done()
	before := started("cat-file")
	if got, err := contentOf(t, ctx, r, ids[1]); got != "1" || err != nil || len(k.readers) != 0 || started("cat-file") != before+1 {
		t.Errorf("after the end: %q, %v, and %d are kept", got, err, len(k.readers))
	}
}

// TestKeepBoth: two readers at once have a child each, and the next two have the same ones; of
// more than two the children end.
func TestKeepBoth(t *testing.T) {
	started := counted(t)
	r := bare(t)
	ids := packedCommits(t, r)
	ctx, done := Keep(t.Context())
	defer done()
	atOnce := func(n int) {
		t.Helper()
		for i := range n {
			batch := byChild(ctx, r)
			defer batch.Close()
			if _, _, err := batch.Read(ids[i%len(ids)]+":file", 10); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 3 {
		atOnce(2)
	}
	if n := started("cat-file"); n != 2 {
		t.Errorf("%d children for two at once, three times", n)
	}
	atOnce(3)
	resting := 0
	for _, list := range keeperOf(ctx).readers {
		resting += len(list)
	}
	if resting != maxResting {
		t.Errorf("%d children rest", resting)
	}
}

// killed kills a child, and waits until it is dead.
func killed(t *testing.T, c *Child) {
	t.Helper()
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	await.True(t, "its end", func() bool { return !alive(c) })
}

// TestKeepMoves: moves share a child, each a transaction that is there when it is said; one
// that loses says so, moves nothing, and the next goes on; without Keep it is the same.
func TestKeepMoves(t *testing.T) {
	started := counted(t)
	r := bare(t)
	ids := packedCommits(t, r)
	env := append(slices.Clone(os.Environ()), "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_DIR="+r.Dir)
	const ref = "refs/ward/record/D-1.1"
	check := func(ctx context.Context) {
		t.Helper()
		move := func(old, new string) error {
			return MoveRef(ctx, r.Dir, env, "text", RefUpdate{ref, old, new})
		}
		for _, step := range [][2]string{{Zero, ids[0]}, {ids[0], ids[1]}, {ids[1], ids[0]}} {
			if err := move(step[0], step[1]); err != nil {
				t.Fatal(err)
			}
			if got, err := r.Ref(t.Context(), ref); got != step[1] || err != nil {
				t.Fatalf("it is at %s, %v", got, err)
			}
		}
		if err := move(ids[1], ids[1]); err == nil || !strings.Contains(err.Error(), "cannot lock ref") {
			t.Errorf("from what it was not at: %v", err)
		}
		if err := move(ids[0], strings.Repeat("d", 40)); err == nil {
			t.Error("to an object that is not there")
		}
		if err := move(ids[0], ids[1]); err != nil {
			t.Error(err)
		}
		if err := r.UpdateRefs(t.Context(), "", RefUpdate{ref, ids[1], Zero}); err != nil {
			t.Fatal(err)
		}
	}
	before := started("update-ref")
	ctx, done := Keep(t.Context())
	check(ctx)
	for _, kept := range keeperOf(ctx).movers {
		killed(t, kept.cmd)
	}
	if err := MoveRef(ctx, r.Dir, env, "text", RefUpdate{ref, Zero, ids[0]}); err != nil {
		t.Errorf("after one that was killed: %v", err)
	}
	if err := r.UpdateRefs(t.Context(), "", RefUpdate{ref, ids[0], Zero}); err != nil {
		t.Fatal(err)
	}
	done()
	if n := started("update-ref") - before; n != 3+1+2 {
		t.Errorf("%d children moved it, and one more for the test", n)
	}
	check(t.Context())
}

// TestKeepRests: a child that nobody asks ends, and the next one is another.
func TestKeepRests(t *testing.T) {
	was := restTime
	restTime = time.Millisecond
	t.Cleanup(func() { restTime = was })
	r := bare(t)
	ids := packedCommits(t, r)
	env := append(slices.Clone(os.Environ()), "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_DIR="+r.Dir)
	ctx, done := Keep(t.Context())
	defer done()
	k := keeperOf(ctx)
	for i, id := range ids {
		if got, err := contentOf(t, ctx, r, id); got != fmt.Sprint(i) || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
		if err := MoveRef(ctx, r.Dir, env, "text", RefUpdate{fmt.Sprintf("refs/ward/record/D-1.%d", i+1), Zero, id}); err != nil {
			t.Fatal(err)
		}
		await.True(t, "their end", func() bool {
			k.mu.Lock()
			defer k.mu.Unlock()
			return len(k.readers)+len(k.movers) == 0
		})
	}
}

// TestKeepLimited: a child with limits is shared, too, while it has time; and what reads beside a
// repository has one of its own.
func TestKeepLimited(t *testing.T) {
	started := counted(t)
	r := bare(t)
	ids := packedCommits(t, r)
	limited := *r
	limited.Limits = Limits{CPU: time.Hour}
	ctx, done := Keep(t.Context())
	defer done()
	again, nothing := Keep(ctx)
	nothing()
	for n, repo := range []*Repo{r, &limited, r.WithObjectDir(t.TempDir())} {
		for range 3 {
			if got, err := contentOf(t, again, repo, ids[1]); got != "1" || err != nil {
				t.Fatalf("%q, %v", got, err)
			}
		}
		if got := started("cat-file"); got != n+1 {
			t.Errorf("%d children read three times of %d", got, n+1)
		}
	}
	for limits, want := range map[Limits]bool{{}: true, {CPU: time.Hour}: true, {CPU: 1}: false} {
		if limits.spares(os.Getpid()) != want {
			t.Errorf("%+v", limits)
		}
	}
}

// TestSaid: what a repository says of itself is asked once, and again when its settings are others.
func TestSaid(t *testing.T) {
	started := counted(t)
	r := bare(t)
	ctx, done := Keep(t.Context())
	defer done()
	for _, want := range []string{"", "one", "two"} {
		if want != "" {
			if _, err := r.Output(t.Context(), "config", "ward.test", want); err != nil {
				t.Fatal(err)
			}
		}
		before := started("config")
		for range 2 {
			is, err := r.Bare(ctx)
			all, no := r.Settings(ctx)
			if got := strings.Join(all["ward.test"], ","); !is || got != want || err != nil || no != nil {
				t.Fatalf("%v, %q, %v, %v", is, got, err, no)
			}
			all["ward.test"] = []string{"the caller's own"}
		}
		if n := started("config") - before; n != 1 {
			t.Errorf("%d children were asked twice", n)
		}
	}
	if n := started("rev-parse"); n != 3 {
		t.Errorf("%d children were asked whether it is bare", n)
	}
}

// TestTree holds the entries that Tree reads itself to those of git ls-tree.
func TestTree(t *testing.T) {
	started := counted(t)
	r := bare(t)
	batch := r.Batch(t.Context())
	defer batch.Close()
	tree, err := batch.EditTree("", map[string][]byte{"a": {1}, "d/e/f": {2}, "d-e": {3}, "d/g": {4}, "é\t": {5}})
	if err != nil {
		t.Fatal(err)
	}
	inner, err := FormatTree([]Entry{{ModeDir, "dir", tree}, {ModeExec, "exec", BlobID([]byte{1})}, {ModeSymlink, "link", BlobID([]byte{2})},
		{ModeDir, "lost", strings.Repeat("f", 40)}, {ModeGitlink, "module", strings.Repeat("e", 40)}})
	if err != nil {
		t.Fatal(err)
	}
	top, err := r.WriteObject("tree", inner)
	if err != nil {
		t.Fatal(err)
	}
	commit, err := r.CommitTree(Ward, top, "", time.Unix(1, 0), "a commit")
	if err != nil {
		t.Fatal(err)
	}
	for _, paths := range [][]string{nil, {"dir"}, {"exec", "link"}, {"dir/d/e/f", "dir/a"}, {"dir/none", "none/a", "exec/a", "module/a"}, {"dir/é\t"}, {"lost"}, {"lost/a"}} {
		gather := func(all func(func(string, error) bool)) (list []string, err error) {
			for e, no := range all {
				if no != nil {
					return nil, no
				}
				list = append(list, e)
			}
			return list, nil
		}
		got, err := gather(r.Tree(t.Context(), commit, paths...))
		args := append([]string{"--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--"}, paths...)
		want, no := gather(r.Records(t.Context(), args...))
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) || (err == nil) != (no == nil) {
			t.Errorf("%q: %q, %v; git has %q, %v", paths, got, err, want, no)
		}
	}
	if n := started("ls-tree"); n != 8+1 {
		t.Errorf("%d children listed, eight of them the test's", n)
	}
	if _, err := r.Commit(t.Context(), Zero); err == nil || started("rev-parse") > 0 {
		t.Errorf("the id of nothing: %v, and git was asked", err)
	}
}
