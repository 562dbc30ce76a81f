package halting

import (
	"math/rand"
	"testing"
)

// TestFiveStates looks for wrong verdicts only: what 5 states can do is not
// known to this test beyond the steps that it executes.
func TestFiveStates(t *testing.T) {
	refuse(t)
	decided, total := 0, 0
	random := rand.New(rand.NewSource(8))
	wild(5, 400, random, func(m turing, _ bool) {
		r := Analyze(t.Context(), parse(t, m.encode(random.Intn(styles), random)), Options{Calls: tools, Steps: 1_000_000})
		halts, _, _ := m.run(20_000)
		if total++; r.Risk == Low || r.Risk == High {
			decided++
		}
		if r.Risk == High && halts {
			t.Errorf("%v is HIGH (%s), and it halts", m, r.Reason)
		}
	})
	t.Logf("%d of %d decided", decided, total)
}
