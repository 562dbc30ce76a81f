package launch

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/internal/runstate"
	"git-ward/sandbox/verifier"
)

// TestTeller: people are told of each start and end, and now and then of what goes on;
// status has the last words as long as a launcher is there to keep them true.
func TestTeller(t *testing.T) {
	bare := t.TempDir()
	if err := os.Mkdir(filepath.Join(bare, "ward"), 0o755); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := &teller{bare: bare, messages: &out}
	step := verifier.Step{Command: verifier.Command{Name: "criterion 1", Line: "make"}, Run: 1, Runs: 2}
	w.tell("D-1.1", step)
	for step.Elapsed = 2 * time.Second; step.Elapsed < 10*time.Second; step.Elapsed += 2 * time.Second {
		step.Says = "ok \x1b[2Jpkg"
		w.tell("D-1.1", step)
	}
	if list := runstate.JudgingNow(bare); len(list) > 0 {
		t.Error("nothing runs, and a verdict does")
	}
	gate, err := lockGate(t.Context(), bare)
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	if list := runstate.JudgingNow(bare); len(list) != 1 || list[0].Unit != "D-1.1" || list[0].Words != `run 1 of 2, criterion 1: 8s, says: ok \x1b[2Jpkg` {
		t.Errorf("%+v", list)
	}
	step.Ended = &verifier.Outcome{End: verifier.Exited}
	w.tell("D-1.1", step)
	if want := "verdict on D-1.1: run 1 of 2, criterion 1: make\nverdict on D-1.1: run 1 of 2, criterion 1: ok after 0s\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	w.forget("D-1.1")
	if list := runstate.JudgingNow(bare); len(list) > 0 || strings.Contains(out.String(), "\x1b") {
		t.Error("it is not forgotten")
	}
}
