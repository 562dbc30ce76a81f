package runstate

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestNow: the launcher that holds the lock is told as it wrote itself down, and nothing
// once it has let go; an older launcher's file says less, and is read too.
func TestNow(t *testing.T) {
	bare := t.TempDir()
	if _, running := Now(bare); running {
		t.Error("nobody has been there")
	}
	if err := os.Mkdir(filepath.Join(bare, "ward"), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(bare, LockPath))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	gate, err := os.Open(Gate(bare))
	if err == nil {
		err = unix.Flock(int(gate.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	want := Launcher{PID: os.Getpid(), Scratch: "/tmp/ward-1", Up: true, Since: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)}
	if _, err := f.WriteAt(want.Text(), 0); err != nil {
		t.Fatal(err)
	}
	if got, running := Now(bare); !running || got != want {
		t.Errorf("%+v, %v", got, running)
	}
	f.Truncate(0)
	f.WriteAt([]byte("1\n/tmp/ward-1\nup\n"), 0)
	if got, running := Now(bare); !running || got.PID != 0 || !got.Up || !got.Since.IsZero() {
		t.Errorf("an older one's: %+v, %v", got, running)
	}
	if err := os.Rename(f.Name(), f.Name()+".old"); err != nil {
		t.Fatal(err)
	}
	if got, running := Now(bare); !running || got.PID != 0 {
		t.Errorf("somebody has taken its file away: %+v, %v", got, running)
	}
	if err := unix.Flock(int(gate.Fd()), unix.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if got, running := Now(bare); running || got != (Launcher{}) {
		t.Errorf("it has let go: %+v", got)
	}
}
