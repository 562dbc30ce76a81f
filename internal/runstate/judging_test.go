package runstate

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestJudgingNow: the verdict that a launcher is at is told while it runs, cleaned, and no
// words are older than the launcher's own beat.
func TestJudgingNow(t *testing.T) {
	bare := t.TempDir()
	if err := os.Mkdir(filepath.Join(bare, "ward"), 0o755); err != nil {
		t.Fatal(err)
	}
	j := Judging{Unit: "D-1.1", Words: "run 1\x1b[2J", Time: time.Now()}
	if err := j.Tell(bare); err != nil {
		t.Fatal(err)
	}
	if _, ok := JudgingNow(bare); ok {
		t.Error("nothing runs")
	}
	f, err := os.Create(filepath.Join(bare, LockPath))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if got, ok := JudgingNow(bare); !ok || got.Unit != "D-1.1" || got.Words != `run 1\x1b[2J` {
		t.Errorf("%+v, %v", got, ok)
	}
	if j.Time = time.Now().Add(-time.Minute); j.Tell(bare) != nil {
		t.Fatal("not told")
	}
	if got, ok := JudgingNow(bare); ok {
		t.Errorf("old words: %+v", got)
	}
	NotJudging(bare)
	if s, ok := LastSuite(bare); ok {
		t.Errorf("no suite ran: %+v", s)
	}
	if err := (Suite{Commit: "abc", Words: "passes"}).Tell(bare); err != nil {
		t.Fatal(err)
	}
	if s, ok := LastSuite(bare); !ok || s.Words != "passes" {
		t.Errorf("%+v, %v", s, ok)
	}
}
