package fence

import (
	"fmt"
	"strings"
	"testing"
)

// TestHands: a machine that asks for all there is gets its number and no more, and keeps
// nothing from another: where both wait, who has less to do begins.
func TestHands(t *testing.T) {
	var h hands
	const most = 3
	for k := range 10 {
		number, err := h.enter(fmt.Sprintf("gate.evil.%d", k+1), most)
		if (err == nil) != (k < most) {
			t.Fatalf("worker %d of one machine: %v", k+1, err)
		}
		if err != nil && !strings.Contains(err.Error(), "the gate has 3 workers of this machine, as many as [launch] hand_agents") {
			t.Error(err)
		}
		if err == nil && number != firstHand+k {
			t.Errorf("worker %d has number %d", k+1, number)
		}
	}
	if _, err := h.enter("gate.evil.1", most); err != errAtWork {
		t.Errorf("twice: %v", err)
	}
	begins := func(holder string, want bool) {
		t.Helper()
		if h.begin(holder) != want {
			t.Errorf("%s begins: %v", holder, !want)
		}
	}
	begins("gate.evil.1", true)
	begins("gate.evil.2", true) // nobody else waits
	if number, err := h.enter("gate.good.1", most); number != firstHand+3 || err != nil {
		t.Fatal(number, err)
	}
	begins("gate.evil.3", false)
	begins("gate.good.1", true)
	begins("gate.evil.3", true)
	h.wait("gate.good.1") // it got nothing
	h.leave("gate.evil.2")
	if _, err := h.enter("gate.evil.2", most); err != nil {
		t.Error(err)
	}
	begins("gate.evil.2", false)
	h.leave("gate.good.1")
	begins("gate.evil.2", true)
}
