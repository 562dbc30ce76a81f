package fence

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// One launcher works on a repository; what a killed one left of its sockets goes with
// the next.
func TestLock(t *testing.T) {
	bare := t.TempDir()
	if err := os.Mkdir(filepath.Join(bare, "ward"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, running := Running(bare); running {
		t.Error("nobody has been there")
	}
	lock, err := acquire(bare)
	if err != nil {
		t.Fatal(err)
	}
	scratch, err := makeScratch(lock, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if pid, running := Running(bare); !running || pid != os.Getpid() {
		t.Errorf("process %d, %v", pid, running)
	}
	if second, err := acquire(bare); err == nil || !strings.Contains(err.Error(), "another launcher") {
		t.Error(second, err)
	}
	lock.Close() // as the kernel does for one that is killed
	if _, running := Running(bare); running {
		t.Error("the lock outlives its launcher")
	}
	lock, err = acquire(bare)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := os.Stat(scratch); !os.IsNotExist(err) {
		t.Errorf("the sockets of a launcher that was killed: %v", err)
	}
}

// A directory that is not a launcher's is not removed, whatever stands in the lock.
func TestLockNamesAnotherDirectory(t *testing.T) {
	bare, precious := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(bare, "ward"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bare, lockPath), []byte("1\n"+precious+"\n"), 0o600); err != nil {
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

// TestAskingIsNoLauncher: a launch does not take whoever asks whether one is running for
// another launcher.
func TestAskingIsNoLauncher(t *testing.T) {
	bare := t.TempDir()
	if err := os.Mkdir(filepath.Join(bare, "ward"), 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := acquire(bare)
	if err != nil {
		t.Fatal(err)
	}
	lock.Close()
	asking, err := os.Open(filepath.Join(bare, lockPath))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(asking.Fd()), unix.LOCK_SH); err != nil { // as Running does
		t.Fatal(err)
	}
	time.AfterFunc(lockPatience/4, func() { asking.Close() })
	if lock, err = acquire(bare); err != nil {
		t.Fatal(err)
	}
	lock.Close()
}

// TestMayAsk: who cannot open the lock is told so, and not that nothing runs.
func TestMayAsk(t *testing.T) {
	bare := t.TempDir()
	if err := MayAsk(bare); err != nil {
		t.Errorf("nothing was ever launched there: %v", err)
	}
	if err := os.Mkdir(filepath.Join(bare, "ward"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bare, lockPath), nil, 0o000); err != nil {
		t.Fatal(err)
	}
	if err := MayAsk(bare); os.Geteuid() != 0 && (err == nil || !strings.Contains(err.Error(), "you may not")) {
		t.Errorf("another user's lock: %v", err)
	}
}
