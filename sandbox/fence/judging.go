package fence

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"git-ward/internal/atomicfile"
	"git-ward/internal/diag"
	"git-ward/sandbox/verifier"
)

// judgingPath is where a launcher says which verdict it is at, below the repository.
const judgingPath = "ward/judging.json"

// Judging is how far a verdict is that somebody waits for.
type Judging struct {
	Unit  string    `json:"unit"`
	Words string    `json:"words"` // one line, cleaned
	Time  time.Time `json:"time"`  // of these words
}

// stale is how old words about something that runs may be: they come each 2 seconds.
const stale = 15 * time.Second

// JudgingNow is the verdict that the repository's launcher is at; ok is false where it
// is at none, or nothing runs.
func JudgingNow(bare string) (j Judging, ok bool) {
	if _, running := Running(bare); !running {
		return j, false
	}
	const limit = 64 << 10
	f, err := os.Open(filepath.Join(bare, judgingPath))
	if err != nil {
		return j, false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil || json.Unmarshal(data, &j) != nil || time.Since(j.Time) > stale {
		return Judging{}, false
	}
	j.Unit, j.Words = diag.Clean(j.Unit), diag.Clean(j.Words)
	return j, true
}

// teller says how far verdicts are: in a file for status, and to people in the
// launcher's own words. It is called by the one verdict that runs.
type teller struct {
	bare     string
	messages io.Writer
	last     time.Time // of the last line for people about a command that runs
}

// toldInterval is the time between two lines for people about one command that runs:
// a launcher's words lie in a file, most often.
const toldInterval = 10 * time.Second

func (t *teller) tell(unit string, s verifier.Step) {
	words := s.Words()
	running := s.Ended == nil && s.Elapsed > 0
	if data, err := json.Marshal(Judging{unit, words, time.Now()}); err == nil {
		atomicfile.Write(filepath.Join(t.bare, judgingPath), data, 0o644) // the log has it, too
	}
	if running && time.Since(t.last) < toldInterval {
		return
	}
	t.last = time.Now()
	fmt.Fprintf(t.messages, "verdict on %s: %s\n", diag.Clean(unit), words)
}

// forget takes the file away: no verdict runs.
func (t *teller) forget() { os.Remove(filepath.Join(t.bare, judgingPath)) }
