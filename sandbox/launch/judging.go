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

// teller reports verdicts' progress: in a file for status, and in the launcher's output for
// people. All running verdicts call it.
type teller struct {
	bare     string
	messages io.Writer
	live     func(live.Event) // is told as well; may be nil

	mu   sync.Mutex
	last map[string]time.Time // by unit: time of the last line about a running command
}

// toldInterval is the least time between two lines about one running command, because a
// launcher's output usually goes to a file.
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

// forget removes the file of a unit whose verdict no longer runs.
func (t *teller) forget(unit string) {
	runstate.NotJudging(t.bare, unit)
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.last, unit)
}
