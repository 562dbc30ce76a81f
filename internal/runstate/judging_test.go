package runstate

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestJudgingNow: the verdicts that a launcher is at are told while it runs, cleaned, and no
// words are older than the launcher's own beat.
func TestJudgingNow(t *testing.T) {
	bare := t.TempDir()
	if err := os.Mkdir(filepath.Join(bare, "ward"), 0o755); err != nil {
		t.Fatal(err)
	}
	young := time.Date(2500, 1, 1, 0, 0, 0, 0, time.UTC) // however slow the machine is
	j := Judging{Unit: "D-1.1", Words: "run 1\x1b[2J", Time: young}
	if err := j.Tell(bare); err != nil {
		t.Fatal(err)
	}
	if list := JudgingNow(bare); len(list) != 0 {
		t.Error("nothing runs")
	}
	bare = launching(t)
	other := Judging{Unit: "D-2.3", Words: "run 2", Time: young}
	if err := errors.Join(other.Tell(bare), j.Tell(bare)); err != nil {
		t.Fatal(err)
	}
	if list := JudgingNow(bare); len(list) != 2 || list[0].Unit != "D-1.1" || list[0].Words != `run 1\x1b[2J` || list[1].Unit != "D-2.3" {
		t.Errorf("%+v", list)
	}
	if j.Time = time.Now().Add(-time.Minute); j.Tell(bare) != nil {
		t.Fatal("not told")
	}
	if list := JudgingNow(bare); len(list) != 1 || list[0].Unit != "D-2.3" {
		t.Errorf("old words: %+v", list)
	}
	NotJudging(bare, "D-2.3")
	if list := JudgingNow(bare); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	if (Judging{Unit: "../signs"}).Tell(bare) == nil {
		t.Error("a name of another directory is written")
	}
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
