package launch

import (
	"fmt"
	"io"
	"sync"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/live"
	"git-ward/internal/runstate"
	"git-ward/sandbox/verifier"
)

// teller says how far verdicts are: in a file for status, and to people in the
// launcher's own words. All verdicts that run call it.
type teller struct {
	bare     string
	messages io.Writer
	live     func(live.Event) // is told, too; nil: nobody

	mu   sync.Mutex
	last map[string]time.Time // by unit: of the last line for people about a command that runs
}

// toldInterval is the time between two lines for people about one command that runs:
// a launcher's words lie in a file, most often.
const toldInterval = 10 * time.Second

func (t *teller) tell(unit string, s verifier.Step) {
	words := s.Words()
	running := s.Ended == nil && s.Elapsed > 0
	runstate.Judging{Unit: unit, Words: words, Time: time.Now()}.Tell(t.bare) // the log has it, too
	if t.live != nil {
		t.live(live.Event{Unit: unit, Kind: live.Verdict, Text: words})
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if running && time.Since(t.last[unit]) < toldInterval {
		return
	}
	if t.last == nil {
		t.last = map[string]time.Time{}
	}
	t.last[unit] = time.Now()
	fmt.Fprintf(t.messages, "verdict on %s: %s\n", diag.Clean(unit), words)
}

// forget takes a unit's file away: no verdict on it runs.
func (t *teller) forget(unit string) {
	runstate.NotJudging(t.bare, unit)
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.last, unit)
}
