package launch

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"git-ward/internal/config"
	"git-ward/internal/runstate"
	"git-ward/sandbox/lease"

	"git-ward/sandbox/fence"
	"golang.org/x/sys/unix"
)

// One launcher works on a repository; what a killed one left of its sockets goes with
// the next.
func TestLock(t *testing.T) {
	bare := t.TempDir()
	if err := os.Mkdir(filepath.Join(bare, "ward"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, running := runstate.Running(bare); running {
		t.Error("nobody has been there")
	}
	gate, err := lockGate(t.Context(), bare)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := acquire(bare)
	if err != nil {
		t.Fatal(err)
	}
	scratch, err := makeScratch(lock, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if pid, running := runstate.Running(bare); !running || pid != os.Getpid() {
		t.Errorf("process %d, %v", pid, running)
	}
	if second, err := lockGate(t.Context(), bare); err == nil || !strings.Contains(err.Error(), "another launcher") {
		t.Error(second, err)
	}
	gate.Close() // as the kernel does for one that is killed
	lock.Close()
	scratch.Lock.Close()
	if _, running := runstate.Running(bare); running {
		t.Error("the lock outlives its launcher")
	}
	lock, err = acquire(bare)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := os.Stat(scratch.Path); !os.IsNotExist(err) {
		t.Errorf("the sockets of a launcher that was killed: %v", err)
	}
}

// A directory that is not a launcher's is not removed, whatever stands in the lock.
func TestLockNamesAnotherDirectory(t *testing.T) {
	bare, precious := t.TempDir(), filepath.Join(t.TempDir(), "ward-project")
	if err := errors.Join(os.Mkdir(filepath.Join(bare, "ward"), 0o755), os.Mkdir(precious, 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bare, runstate.LockPath), []byte("1\n"+precious+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lock, err := acquire(bare)
	if err != nil {
		t.Fatal(err)
	}
	lock.Close()
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}

// TestLockOfACopy: a launch of a copy, as a restored backup is, leaves the original's scratch
// where the original works, and a name of its own for its workers.
func TestLockOfACopy(t *testing.T) {
	dir := t.TempDir()
	bare, restored := filepath.Join(dir, "x.git"), filepath.Join(dir, "restored.git")
	if err := os.MkdirAll(filepath.Join(bare, "ward"), 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := acquire(bare)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	scratch, err := makeScratch(lock, dir)
	if err != nil {
		t.Fatal(err)
	}
	name, _, err := lease.LauncherName(bare)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", bare, restored).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	other, err := acquire(restored)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := os.Stat(scratch.Path); err != nil {
		t.Errorf("the original's door and gateway: %v", err)
	}
	if now, former, err := lease.LauncherName(restored); err != nil || now == name || former != name {
		t.Errorf("the copy's workers are called as the original's: %s, %v", now, err)
	}
	if now, _, err := lease.LauncherName(bare); err != nil || now != name {
		t.Errorf("the original's workers have another name: %s, %v", now, err)
	}
	if fence.OwnerOf(restored) == fence.OwnerOf(bare) {
		t.Error("the copy's containers are the original's")
	}
	// Put in the original's place, while that works on, moved aside.
	owner := fence.OwnerOf(bare)
	if err := errors.Join(os.Rename(bare, bare+".old"), os.Rename(restored, bare)); err != nil {
		t.Fatal(err)
	}
	if fence.OwnerOf(bare) == owner {
		t.Error("the containers of a copy in the original's place are the original's")
	}
}

// TestAskingIsNoLauncher: a launch does not take whoever asks whether one is running for
// another launcher.
func TestAskingIsNoLauncher(t *testing.T) {
	bare := t.TempDir()
	if err := os.Mkdir(filepath.Join(bare, "ward"), 0o700); err != nil {
		t.Fatal(err)
	}
	asking, err := os.Open(runstate.Gate(bare))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(asking.Fd()), unix.LOCK_SH); err != nil { // as Running does
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		time.AfterFunc(20*lockPatience, func() { asking.Close() }) // by the test's own clock
		gate, err := lockGate(t.Context(), bare)
		if err != nil {
			t.Fatal(err)
		}
		gate.Close()
	})
}

// TestAskedForever: a launch does not wait without end for somebody who asks and is stopped: it
// says what is locked, or ends when it is told to.
func TestAskedForever(t *testing.T) {
	bare := t.TempDir()
	if err := os.Mkdir(filepath.Join(bare, "ward"), 0o700); err != nil {
		t.Fatal(err)
	}
	asking, err := os.Open(runstate.Gate(bare))
	if err != nil {
		t.Fatal(err)
	}
	defer asking.Close()
	if err := unix.Flock(int(asking.Fd()), unix.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) { // by the test's own clock
		if gate, err := lockGate(t.Context(), bare); err == nil || !strings.Contains(err.Error(), "has locked "+runstate.Gate(bare)) {
			t.Error(gate, err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if gate, err := lockGate(ended, bare); !errors.Is(err, context.Canceled) {
			t.Error(gate, err)
		}
	})
}

// TestMayAsk: who cannot open the lock is told so, and not that nothing runs.
func TestMayAsk(t *testing.T) {
	bare := t.TempDir()
	if err := runstate.MayAsk(bare); err != nil {
		t.Errorf("nothing was ever launched there: %v", err)
	}
	if err := os.Mkdir(filepath.Join(bare, "ward"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bare, runstate.LockPath), nil, 0o000); err != nil {
		t.Fatal(err)
	}
	if err := runstate.MayAsk(bare); os.Geteuid() != 0 && (err == nil || !strings.Contains(err.Error(), "you may not")) {
		t.Errorf("another user's lock: %v", err)
	}
}

// TestKilledLauncher: a launcher that was killed is told of, and one that runs, or ended in
// good order, is not.
func TestKilledLauncher(t *testing.T) {
	bare := t.TempDir()
	if err := os.Mkdir(filepath.Join(bare, "ward"), 0o755); err != nil {
		t.Fatal(err)
	}
	settings := config.Default()
	settings.Limits.DiskFree = 1
	want := func(what string, words ...string) {
		t.Helper()
		got := runstate.Warnings(bare, settings)
		if len(words) == 0 != (len(got) == 0) || len(got) > 1 {
			t.Errorf("%s: %q", what, got)
			return
		}
		for _, w := range words {
			if !strings.Contains(got[0], w) {
				t.Errorf("%s: %q lacks %q", what, got[0], w)
			}
		}
	}
	gate, err := lockGate(t.Context(), bare)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := acquire(bare)
	if err != nil {
		t.Fatal(err)
	}
	scratch, err := makeScratch(lock, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	want("a launcher that runs")
	gate.Close() // as the kernel does for one that is killed
	lock.Close()
	want("a killed launcher", "was killed", "next launch")
	if err := scratch.Remove(); err != nil { // as the reaper does
		t.Fatal(err)
	}
	want("a killed launcher whose reaper was here", "was killed")
	if gate, err = lockGate(t.Context(), bare); err != nil {
		t.Fatal(err)
	}
	if lock, err = acquire(bare); err != nil {
		t.Fatal(err)
	}
	if scratch, err = makeScratch(lock, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	l := &launch{lock: lock, scratch: scratch}
	if runstate.Up(bare) {
		t.Error("nothing is up yet")
	}
	if l.tellUp(); !runstate.Up(bare) {
		t.Error("it is up")
	}
	want("one that is up")
	if err := removeScratch(lock, scratch); err != nil {
		t.Fatal(err)
	}
	gate.Close()
	lock.Close()
	if runstate.Up(bare) {
		t.Error("it has ended")
	}
	want("one that ended in good order")
}

// TestStays: a launch ends where its repository is moved, or another one is put in its place.
func TestStays(t *testing.T) {
	bare := filepath.Join(t.TempDir(), "p.git")
	ward := filepath.Join(bare, "ward")
	if err := os.MkdirAll(ward, 0o755); err != nil {
		t.Fatal(err)
	}
	gate, err := lockGate(t.Context(), bare)
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := stays(ended, gate); err != nil {
		t.Error(err)
	}
	if err := errors.Join(os.Rename(bare, bare+".old"), os.MkdirAll(ward, 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := stays(t.Context(), gate); err == nil || !strings.Contains(err.Error(), "is no longer the directory") {
		t.Error(err)
	}
}
