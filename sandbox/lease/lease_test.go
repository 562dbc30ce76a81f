package lease

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/git"
	"git-ward/internal/tier"
	"git-ward/protocols/lease"
)

// taken reports whether a directive is another's.
func taken(t *testing.T, err error) bool {
	t.Helper()
	var taken *Taken
	if err != nil && !errors.As(err, &taken) {
		t.Fatal(err)
	}
	return err != nil
}

// TestTakeOver: a lease that nobody renews is another's after its end and a grace, under
// another id, and then the old holder has lost it, whatever it does.
func TestTakeOver(t *testing.T) {
	r := newRepository(t, directives(3))
	now := noon
	a, b := r.at(&now), r.at(&now)
	first, err := a.Take(t.Context(), "a.1", "process", "D-1")
	if err != nil {
		t.Fatal(err)
	}
	old := first.Lease()
	for _, c := range []struct {
		after time.Duration
		taken bool
		until time.Time
	}{
		{0, true, noon.Add(11 * time.Minute)}, {10 * time.Minute, true, noon.Add(11 * time.Minute)}, {11*time.Minute - time.Second, true, noon.Add(11 * time.Minute)},
		{-time.Hour, true, noon.Add(11 * time.Minute)}, {-2 * time.Hour, true, time.Time{}}, // the clock was put back: nobody can tell
		{11 * time.Minute, false, time.Time{}},
	} {
		now = noon.Add(c.after)
		if others, err := b.Others(t.Context()); err != nil || len(others) > 0 != c.taken || !others["D-1"].Equal(c.until) {
			t.Errorf("after %v: %v %v", c.after, others, err)
		}
		h, err := b.Take(t.Context(), "b.1", "process", "D-1")
		if taken(t, err) != c.taken || !c.taken && h.Lease().ID == old.ID {
			t.Errorf("after %v: %v %v", c.after, err, h)
		}
	}
	if _, err := a.Renew(t.Context(), old); !errors.Is(err, ErrLost) {
		t.Error(err)
	}
	if err := a.Release(t.Context(), old); err != nil {
		t.Error(err)
	}
	if e := must(b.read(t.Context(), "D-1")); e.lease.Holder != "b.1" {
		t.Errorf("the old holder gave away the new one's: %v", e)
	}
}

// TestClockIsSet: a clock that is set forward takes nothing from this launcher's own workers,
// and one that is set back is mended by the next renewal.
func TestClockIsSet(t *testing.T) {
	r := newRepository(t, directives(3))
	now := noon
	b := r.at(&now)
	first, err := b.Take(t.Context(), "a.1", "process", "D-1")
	if err != nil {
		t.Fatal(err)
	}
	l := first.Lease()
	for _, jump := range []time.Duration{time.Hour, 30 * 24 * time.Hour, -25 * time.Hour} {
		now = now.Add(jump)
		if _, err := b.Take(t.Context(), "a.2", "process", "D-1"); !taken(t, err) {
			t.Errorf("the clock went by %v: %v", jump, err)
		}
		if is, ok := first.Current(t.Context()); !ok || is.ID != l.ID {
			t.Errorf("the clock went by %v: %v %v", jump, is, ok)
		}
		again, err := b.Renew(t.Context(), l)
		if err != nil || !again.Live(now) || again.ID != l.ID {
			t.Errorf("the clock went by %v: %v %v", jump, again, err)
		}
	}
	for i := range 21 { // within one second, too, and back to where it was
		now = now.Add(time.Duration(i%3-1) * time.Minute)
		if _, err := b.Renew(t.Context(), l); err != nil {
			t.Fatal(i, err)
		}
	}
	if e := must(b.read(t.Context(), "D-1")); e.err != nil || e.lease.ID != l.ID {
		t.Error(e)
	}
}

// TestKeep: a worker's lease is renewed while somebody keeps it, at once where the clock is
// set, and its end is told where it was revoked.
func TestKeep(t *testing.T) {
	tier.First(t, "it waits for what happens each second")
	r := newRepository(t, directives(3))
	var ahead time.Duration
	b := r.book()
	b.Now = func() time.Time { return time.Now().Add(ahead) }
	w, err := b.Take(t.Context(), "a.1", "process", "D-2")
	if err != nil {
		t.Fatal(err)
	}
	l := w.Lease()
	ahead = time.Hour // before anybody else looks at it
	lost := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Keep(ctx, func(why error) { lost <- why })
	}()
	defer func() { cancel(); <-ended }()
	ref := func() entry { return must(b.read(t.Context(), "D-2")) }
	await.True(t, "it is renewed", func() bool { return ref().lease.Live(b.now()) })
	if ref().lease.ID != l.ID || w.Token(t.Context()) != l.Name() {
		t.Error(ref(), w.Token(t.Context()))
	}
	r.git("update-ref", "-d", lease.Ref("D-2"))
	if name := w.Token(t.Context()); name != "" {
		t.Errorf("after it was revoked: %s", name)
	}
	if why := await.Value(t, "word that it was revoked", lost); !errors.Is(why, ErrLost) {
		t.Error(why)
	}
	again, err := b.Take(t.Context(), "a.1", "process", "D-2")
	if err != nil || again.Lease().ID == l.ID {
		t.Fatal(again, err)
	}
	if err := w.Release(t.Context()); err != nil || ref().lease.ID != again.Lease().ID {
		t.Error("the old one gave away the new one's:", err, ref())
	}
	if err := again.Release(t.Context()); err != nil || ref().blob != git.Zero {
		t.Error(err, ref())
	}
}

// TestLeftLock: a lock that a killed git left on a lease's ref keeps nobody from it for ever.
func TestLeftLock(t *testing.T) {
	r := newRepository(t, directives(1))
	lock := filepath.Join(r.dir, lease.Ref("D-1")+".lock")
	if err := os.MkdirAll(filepath.Dir(lock), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(lock, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(lock, old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := r.book().Take(t.Context(), "a.1", "process", "D-1"); err != nil {
		t.Error(err)
	}
}

// TestUnreadable: what cannot be read is nobody's, and is said with the remedy.
func TestUnreadable(t *testing.T) {
	r := newRepository(t, directives(2))
	b := r.book()
	id, err := r.repo.WriteObject("blob", []byte("garbage\x1b[31m\n"))
	if err != nil {
		t.Fatal(err)
	}
	r.git("update-ref", lease.Ref("D-1"), id)
	_, err = b.Take(t.Context(), "a.1", "process", "D-1")
	if !taken(t, err) || strings.ContainsRune(err.Error(), '\x1b') {
		t.Errorf("%q", err)
	}
	if others := must(b.Others(t.Context())); len(others) != 1 || !others["D-1"].IsZero() {
		t.Error(others)
	}
}

// TestReclaim: a launcher that comes back has what it held itself at once, and nobody
// else's; what runs without it is told.
func TestReclaim(t *testing.T) {
	r := newRepository(t, directives(5))
	b := r.book()
	for i, c := range [][2]string{{"alpha-1.1", "process"}, {"alpha-1.2", "podman"}, {"alpha-10.1", "process"}, {"alpha-1.job", "kube ward/x"}, {"beta.1", "process"}} {
		if _, err := b.Take(t.Context(), c[0], c[1], "D-"+string(rune('1'+i))); err != nil {
			t.Fatal(err)
		}
	}
	back := r.book()
	back.Launcher = "alpha-1"
	running, err := back.Reclaim(t.Context())
	if err != nil || len(running) != 1 || running[0].Holder != "alpha-1.job" {
		t.Error(running, err)
	}
	var left []string
	for d := range must(b.all(t.Context())) {
		left = append(left, d)
	}
	slices.Sort(left)
	if !slices.Equal(left, []string{"D-3", "D-4", "D-5"}) {
		t.Error(left)
	}
	if _, err := back.Take(t.Context(), "alpha-1.5", "process", "D-4"); !taken(t, err) {
		t.Error("a Job that runs has lost its directive:", err)
	}
}

// TestLauncherName: the name stays over restarts of the launcher, and is another's on
// another machine that sees the same disk.
func TestLauncherName(t *testing.T) {
	bare := t.TempDir()
	if err := os.Mkdir(filepath.Join(bare, "ward"), 0o700); err != nil {
		t.Fatal(err)
	}
	called := func() string {
		t.Helper()
		now, _, err := LauncherName(bare)
		return must(now, err)
	}
	first := called()
	if again := called(); again != first || strings.Contains(first, ".") {
		t.Error(first, again)
	}
	path := filepath.Join(bare, launcherPath)
	for name, c := range map[string]struct {
		text string
		same bool
	}{
		"another machine":       {`{"name":"` + first + `","machine":"0011223344556677","boot":"0011223344556677"}`, false},
		"a machine of no name":  {`{"name":"` + first + `","machine":"","boot":""}`, false},
		"a file that is broken": {`{"name":`, false},
		"a name that is none":   {`{"name":"-x y","machine":"","boot":""}`, false},
		"after a new boot":      {`{"name":"` + first + `","machine":"` + identity("/etc/machine-id") + `","boot":"0011223344556677"}`, identity("/etc/machine-id") != ""},
		"the same boot":         {`{"name":"` + first + `","machine":"","boot":"` + identity("/proc/sys/kernel/random/boot_id") + `"}`, true},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := called(); (got == first) != c.same {
			t.Errorf("%s: %s, was %s", name, got, first)
		}
	}
}

// TestBlobOfAnother: somebody knows the bytes that a lease is, or guesses them, and makes
// a tree of them, of which he pushes all but the blob, which git finds here: what a lease was
// may be another's now, and no renewal takes it away.
func TestBlobOfAnother(t *testing.T) {
	r := newRepository(t, directives(3))
	now := noon
	h, err := r.at(&now).Take(t.Context(), "a.1", "process", "D-1")
	if err != nil {
		t.Fatal(err)
	}
	l := h.Lease()
	data := must(l.Format())
	away := git.Open(t.TempDir())
	in := func(stdin string, args ...string) string {
		t.Helper()
		return strings.TrimSpace(string(must(away.OutputFrom(t.Context(), []byte(stdin), args...))))
	}
	in("", "init", "--quiet", "--bare", away.Dir)
	// The file of the blob, as it was when the lease was taken, is all that is here of it.
	commit := must(away.CommitFile("", "lease", data, noon, "x"))
	pack := in(commit+"\n"+in("", "rev-parse", commit+"^{tree}")+"\n", "pack-objects", "--quiet", filepath.Join(away.Dir, "objects/pack/pack"))
	if err := os.Remove(filepath.Join(away.Dir, "objects", git.BlobID(data)[:2], git.BlobID(data)[2:])); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(away.Dir, "objects/pack/pack-"+pack+".pack"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	entered := exec.Command("git", "--git-dir", r.dir, "receive-pack", r.dir)
	line := git.Zero + " " + commit + " refs/heads/agent/D-1\x00report-status"
	entered.Stdin = io.MultiReader(strings.NewReader(fmt.Sprintf("%04x%s0000", len(line)+4, line)), f)
	if out, err := entered.CombinedOutput(); err != nil || !strings.Contains(string(out), "ok refs/heads/agent/D-1") {
		t.Fatalf("%v: %q", err, out)
	}
	for range 4 {
		now = now.Add(time.Minute)
		if l, err = h.book.Renew(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	r.git("fsck", "--connectivity-only")
	r.git("repack", "-a", "-d", "--quiet")
}

// TestFormer: what a lease was is nobody's any more, and maintenance may free it: no reflog
// leads to it.
func TestFormer(t *testing.T) {
	r := newRepository(t, directives(3))
	r.git("config", "core.logAllRefUpdates", "always") // as init sets it
	now := noon
	b := r.at(&now)
	for range 2 {
		h, err := b.Take(t.Context(), "a.1", "process", "D-1")
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	h, err := b.Take(t.Context(), "a.1", "process", "D-1")
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Minute)
	if _, err := b.Renew(t.Context(), h.Lease()); err != nil {
		t.Fatal(err)
	}
	r.git("prune", "--expire=now")
	if out := r.git("count-objects"); !strings.HasPrefix(out, "4 objects") { // control's three, and the lease that is
		t.Error(out)
	}
	r.git("fsck", "--strict")
}
