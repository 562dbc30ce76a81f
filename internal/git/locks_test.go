package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/flock"
)

func TestLockedOut(t *testing.T) {
	r := bare(t)
	path := filepath.Join(r.Dir, "refs/ward/x.lock")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if r.LockedOut("refs/ward/y") || !r.LockedOut("refs/ward/y", "refs/ward/x") || !r.LockedOut("refs/ward/x") {
		t.Error("a fresh lock is somebody's")
	}
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	if !r.LockedOut("refs/ward/x") || r.LockedOut("refs/ward/x") {
		t.Error("an old lock is nobody's, and goes")
	}
}

// TestUnlockOnlyRefs: a name that leads elsewhere removes nothing there. A pusher chooses it
// before anybody has judged the push.
func TestUnlockOnlyRefs(t *testing.T) {
	r := bare(t)
	old := time.Unix(1, 0)
	outside := filepath.Join(filepath.Dir(r.Dir), "Cargo.lock")
	within := filepath.Join(r.Dir, "ward/audit.lock")
	if err := os.MkdirAll(filepath.Dir(within), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(r.Dir), filepath.Join(r.Dir, "refs/heads/up")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{outside, within} {
		if err := errors.Join(os.WriteFile(path, nil, 0o644), os.Chtimes(path, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	for _, ref := range []string{"ward/audit", "refs/../ward/audit", "refs/../../Cargo", "../Cargo", "refs/heads/up/Cargo", "/" + strings.TrimSuffix(outside, ".lock")} {
		if removed, err := r.Unlock(t.Context(), ref); err != nil || len(removed) > 0 {
			t.Errorf("%s: removed %q, %v", ref, removed, err)
		}
	}
}

// begun waits until a process has its arguments and its environment: Start comes back while
// the kernel still executes the program, and until then nobody sees whose it is.
func begun(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	await.True(t, cmd.Args[0]+" has begun", func() bool {
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", cmd.Process.Pid))
		return err == nil && len(environ) > 0
	})
}

// TestUnlock: a lock that nobody can have made goes, and one goes not while a git works in
// the repository.
func TestUnlock(t *testing.T) {
	r := bare(t)
	leave := func() {
		t.Helper()
		old := time.Now().Add(-time.Minute)
		for _, name := range []string{"HEAD.lock", "gc.pid.lock", "logs/refs/heads/x/y.lock", "objects/info/alternates.lock", "refs/heads/x/y.lock", "ward/audit.lock", "hooks/yarn.lock", "launch.lock", "notes/poetry.lock"} {
			path := filepath.Join(r.Dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644), os.Chtimes(path, old, old)); err != nil {
				t.Fatal(err)
			}
		}
	}
	leave()
	launch := exec.CommandContext(t.Context(), "sh", "-c", "read word", "git-ward-launch", "--bare", r.Dir)
	launch.Args[0] = "git-ward-launch"
	waits, err := launch.StdinPipe()
	if err == nil {
		err = launch.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { waits.Close(); launch.Wait() }()
	begun(t, launch)
	if removed, err := r.Unlock(t.Context(), "HEAD", "refs/heads/none"); err != nil || strings.Join(removed, " ") != "HEAD.lock" {
		t.Errorf("removed %q, %v", removed, err)
	}
	leave()
	worker := r.writer(t.Context(), "hash-object", "--stdin")
	in, err := worker.StdinPipe()
	if err == nil {
		err = worker.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	begun(t, worker.Cmd)
	if removed, err := r.UnlockAll(t.Context()); err != nil || len(removed) > 0 {
		t.Errorf("a git works there, and %q went, %v", removed, err)
	}
	in.Close()
	if err := worker.Wait(); err != nil {
		t.Fatal(err)
	}
	if removed, err := r.UnlockAll(t.Context()); err != nil || strings.Join(removed, " ") != "HEAD.lock gc.pid.lock logs/refs/heads/x/y.lock objects/info/alternates.lock refs/heads/x/y.lock" {
		t.Errorf("removed %q, %v", removed, err)
	}
	leave()
	if removed, err := r.UnlockRefs(t.Context()); err != nil || strings.Join(removed, " ") != "HEAD.lock logs/refs/heads/x/y.lock refs/heads/x/y.lock" {
		t.Errorf("removed %q, %v", removed, err)
	}
	leave()
	now := time.Now()
	if err := os.Chtimes(filepath.Join(r.Dir, "HEAD.lock"), now, now); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if removed, err := r.Unlock(ctx, "HEAD"); !errors.Is(err, context.Canceled) {
		t.Errorf("a young lock waits: removed %q, %v", removed, err)
	}
}

// TestUnlockBesideATree: a git that works in a linked worktree keeps its lock, which lies in the
// repository.
func TestUnlockBesideATree(t *testing.T) {
	r := bare(t)
	tree := filepath.Join(t.TempDir(), "tree")
	env := append(os.Environ(), "TREE="+tree, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	shell(t, r.Dir, env, `git worktree add --quiet --detach "$TREE" $(git commit-tree -m one $(git mktree </dev/null))`)
	lock := filepath.Join(r.Dir, "worktrees/tree/index.lock")
	old := time.Unix(1, 0)
	if err := errors.Join(os.WriteFile(lock, nil, 0o644), os.Chtimes(lock, old, old)); err != nil {
		t.Fatal(err)
	}
	// A name or a message may be cat-file, too.
	commit := exec.CommandContext(t.Context(), "git", "hash-object", "--stdin", "--path", "cat-file")
	commit.Dir = tree
	in, err := commit.StdinPipe()
	if err == nil {
		err = commit.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	begun(t, commit)
	for _, at := range []*Repo{r, Open(filepath.Join(r.Dir, "worktrees/tree"))} {
		if removed, err := at.UnlockAll(t.Context()); err != nil || len(removed) > 0 {
			t.Errorf("a git works in the tree, and %q went, %v", removed, err)
		}
	}
	in.Close()
	if err := commit.Wait(); err != nil {
		t.Fatal(err)
	}
	if removed, err := r.UnlockAll(t.Context()); err != nil || strings.Join(removed, " ") != "worktrees/tree/index.lock" {
		t.Errorf("removed %q, %v", removed, err)
	}
}

// unlocksVar has TestUnlockBesideOthers' second process unlock a repository.
const unlocksVar = "WARD_TEST_UNLOCKS"

// TestUnlockBesideOthers: a git of another user, where may not be looked, made no lock of
// one's own; it may have made one of its own.
func TestUnlockBesideOthers(t *testing.T) {
	if dir := os.Getenv(unlocksVar); dir != "" {
		removed, err := Open(dir).Unlock(t.Context(), "HEAD", "packed-refs")
		t.Logf("removed %q, %v", removed, err)
		return
	}
	const user = 65534
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: only root can become another user")
	}
	r := bare(t)
	program := filepath.Join(t.TempDir(), "test")
	self, err := os.Executable()
	if err == nil {
		err = exec.Command("cp", self, program).Run()
	}
	for _, dir := range []string{program, filepath.Dir(program), filepath.Dir(filepath.Dir(program)), r.Dir, filepath.Dir(r.Dir)} { // whatever the umask
		err = errors.Join(err, os.Chmod(dir, 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	old := time.Unix(1, 0)
	for name, owner := range map[string]int{"HEAD.lock": user, "packed-refs.lock": 0} {
		path := filepath.Join(r.Dir, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o644), os.Chown(path, owner, owner), os.Chtimes(path, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	other := exec.CommandContext(t.Context(), "git", "hash-object", "--stdin")
	other.Dir = t.TempDir()
	in, err := other.StdinPipe()
	if err == nil {
		err = errors.Join(other.Start(), os.Chown(r.Dir, user, user))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { in.Close(); other.Wait() }()
	begun(t, other)
	cmd := exec.Command(program, "-test.run", "^TestUnlockBesideOthers$", "-test.v")
	cmd.Dir = "/"
	cmd.Env = append(cmd.Environ(), unlocksVar+"="+r.Dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), `removed ["HEAD.lock"], <nil>`) {
		t.Errorf("%v: %s", err, out)
	}
}

// TestHolding: a lock is held until the last child that inherited it has ended, though its holder
// is gone.
func TestHolding(t *testing.T) {
	dir := t.TempDir()
	lock, err := flock.Dir(dir)
	if err != nil {
		t.Fatal(err)
	}
	repo := bare(t).Holding(lock)
	child := repo.reader(t.Context(), "cat-file", "--batch")
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lock.Close() // as the kernel does for a process that was killed
	if f, err := flock.Within(t.Context(), dir, flock.Exclusive, 0); !errors.Is(err, flock.ErrHeld) {
		t.Errorf("%v, %v", f, err)
	}
	stdin.Close()
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := flock.Within(t.Context(), dir, flock.Exclusive, 0); err != nil {
		t.Error(err)
	}
}
