package fence

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"git-ward/internal/diag"
)

// hands are the workers of other machines that ask for work or have some, by the name of
// each machine's key (--hand NAME): none has more than [launch] hand_agents, and where
// several wait for work, the one that has least is next (MANY-2).
type hands struct {
	mu      sync.Mutex
	holders map[string]*guest
}

// guest is one of them.
type guest struct {
	number int // of the worker
	works  bool
}

// errAtWork is that a worker asks for work a second time.
var errAtWork = errors.New("this worker is at it already")

// handOf is the name of the machine in a holder's, NAME.K.
func handOf(holder string) string { return holder[:max(strings.LastIndexByte(holder, '.'), 0)] }

// enter gives a holder a number, while its machine has fewer than so many workers.
func (h *hands) enter(holder string, most int) (number int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.holders[holder] != nil {
		return 0, errAtWork
	}
	taken, own := map[int]bool{}, 0
	for other, g := range h.holders {
		taken[g.number] = true
		if handOf(other) == handOf(holder) {
			own++
		}
	}
	if own >= most {
		return 0, fmt.Errorf("the gate has %s of this machine, as many as [launch] hand_agents there lets one have: ask for fewer with --agents, or raise it", diag.Count(own, "worker"))
	}
	for n := firstHand; n < firstHand+maxHands; n++ {
		if !taken[n] {
			if h.holders == nil {
				h.holders = map[string]*guest{}
			}
			h.holders[holder] = &guest{number: n}
			return n, nil
		}
	}
	return 0, fmt.Errorf("other machines have %d workers at the gate, which are all that it takes", maxHands)
}

func (h *hands) leave(holder string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.holders, holder)
}

// begin reports whether it is a holder's turn to begin: no machine that waits has less to do
// than its own. If so, it works from now on.
func (h *hands) begin(holder string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	works, waits := map[string]int{}, map[string]bool{}
	for other, g := range h.holders {
		if g.works {
			works[handOf(other)]++
		} else {
			waits[handOf(other)] = true
		}
	}
	for other := range waits {
		if works[other] < works[handOf(holder)] {
			return false
		}
	}
	h.holders[holder].works = true
	return true
}

// wait says that a holder got nothing to do.
func (h *hands) wait(holder string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holders[holder].works = false
}
