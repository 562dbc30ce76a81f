package runstate

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// launching holds a repository's launch lock, as a launcher does, until the test's end.
func launching(t *testing.T) (bare string) {
	t.Helper()
	bare = t.TempDir()
	if err := os.Mkdir(filepath.Join(bare, "ward"), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(bare, LockPath))
	if err != nil {
		t.Fatal(err)
	}
	gate, err := os.Open(Gate(bare))
	if err == nil {
		err = unix.Flock(int(gate.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close(); gate.Close() })
	return bare
}

// TestWorkers: what each worker does is told by the order of their numbers, cleaned, and what
// lies beside is passed over.
func TestWorkers(t *testing.T) {
	bare := launching(t)
	if list := Workers(bare); len(list) != 0 {
		t.Errorf("nobody was there: %+v", list)
	}
	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	first := Worker{Holder: "host.1", Directive: "D-3", Lease: "0123456789abcdef", Where: "podman", PID: 7, Since: at, Doing: Works}
	tenth := Worker{Holder: "host.10", Where: "process", Since: at, Doing: Restarts, Why: "it died\x1b[2J"}
	second := Worker{Holder: "host.2", Since: at, Doing: Starts}
	for _, w := range []Worker{tenth, first, second} {
		if err := w.Tell(bare); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"host.3.json": `{"holder":"host.4"}`, "host.5.json": "{", "README": "words", ".host.1.json.ward-123": "half"} {
		if err := os.WriteFile(filepath.Join(bare, WorkersDir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tenth.Why = `it died\x1b[2J`
	list := Workers(bare)
	if len(list) != 3 || list[0] != first || list[1] != second || list[2] != tenth {
		t.Errorf("%+v", list)
	}
	second.Forget(bare)
	if list := Workers(bare); len(list) != 2 {
		t.Errorf("one is gone: %+v", list)
	}
	ForgetWorkers(bare)
	if list := Workers(bare); len(list) != 0 {
		t.Errorf("all are gone: %+v", list)
	}
	entries, err := os.ReadDir(filepath.Join(bare, WorkersDir))
	if err != nil || len(entries) != 3 || entries[0].Name() != "README" {
		t.Errorf("what no launcher wrote stays, and nothing else: %v, %v", entries, err)
	}
	for _, e := range entries {
		if err := os.Remove(filepath.Join(bare, WorkersDir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Tell(bare); err != nil {
		t.Fatal(err)
	}
	ForgetWorkers(bare)
	if _, err := os.Lstat(filepath.Join(bare, WorkersDir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is empty, and stays: %v", err)
	}
}

// TestWorkersOfNobody: what a killed launcher left behind is nobody's, and no name leads out
// of the directory.
func TestWorkersOfNobody(t *testing.T) {
	bare := t.TempDir()
	if err := os.Mkdir(filepath.Join(bare, "ward"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := (Worker{Holder: "host.1"}).Tell(bare); err != nil {
		t.Fatal(err)
	}
	if list := Workers(bare); len(list) != 0 {
		t.Errorf("nothing runs: %+v", list)
	}
	if err := (Worker{Holder: "../signs"}).Tell(bare); err == nil {
		t.Error("a name of another directory is written")
	}
}
