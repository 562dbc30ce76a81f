package bootstrap_test

import (
	"fmt"
	"testing"
	"time"

	"git-ward/internal/benchtest"
	"git-ward/protocols/boot"
)

// pollTime is what each of these would take, at worst, with the look every ten
// minutes alone.
const pollTime = 10 * time.Minute

// row compares with the look that comes by itself.
func row(what string, took []time.Duration) {
	benchtest.Against(what, benchtest.Median(took), "the 10-minute look", pollTime)
}

// TestBenchWatcher measures what a PM waits for: an agent that was killed until
// the next one's SUCCESS, a signal until the new agent's, and a push of main until
// a watcher that pauses reacts.
func TestBenchWatcher(t *testing.T) {
	benchtest.Only(t)
	s := newSite(t, steadily, `check = "10m"`)
	good := s.branch("agent/x", steadily+"# x\n")
	s.start()
	s.await("SUCCESS main")
	var crash, hop, push []time.Duration
	for n := range 9 {
		start := time.Now()
		s.signal("bootstrap", "agent/x")
		s.awaitLast(boot.Success, good)
		hop = append(hop, time.Since(start))
		start = time.Now()
		s.endAgent() // from a branch: main is next, at once
		s.awaitCount("SUCCESS main", n+2)
		crash = append(crash, time.Since(start))
	}
	s.kill()
	s.main(library + "exit 1\n")
	for n := range 3 {
		s.start()
		s.until("a long pause", func() bool { return len(s.events()) > 0 && s.events()[len(s.events())-1] == "FAILURE main" })
		time.Sleep(3 * time.Second) // well into the pause, past its beginning
		start := time.Now()
		now := s.main(steadily + fmt.Sprintf("# %d\n", n))
		s.awaitLast(boot.Success, now)
		push = append(push, time.Since(start))
		s.kill()
		s.main(library + fmt.Sprintf("exit 1 # %d\n", n))
	}
	row("agent killed to the next one's SUCCESS", crash)
	row("signal to the new agent's SUCCESS, nothing to build", hop)
	row("push of main (itself included) to SUCCESS, from a pause", push)
}
