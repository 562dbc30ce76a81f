package launch

import (
	"maps"
	"sync"

	"git-ward/internal/live"
	"git-ward/internal/runstate"
)

// troubles are providers' failures, by the number of the worker whose calls failed.
type troubles struct {
	mu sync.Mutex
	by map[int]map[string]runstate.Trouble
}

// tell writes the provider failures of one worker into the file with the others'; the file is
// never deleted.
func (t *troubles) tell(bare string, number int, now map[string]runstate.Trouble) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil {
		t.by = map[int]map[string]runstate.Trouble{}
	}
	t.by[number] = maps.Clone(now)
	all := map[string]runstate.Trouble{}
	for _, each := range t.by {
		for directive, trouble := range each {
			if trouble.Last.After(all[directive].Last) {
				all[directive] = trouble
			}
		}
	}
	return runstate.TellTroubles(bare, all)
}

// Troubles reports the provider failures of the worker's calls.
func (w *worker) Troubles(troubles map[string]runstate.Trouble) {
	if err := w.launch.troubles.tell(w.launch.spec.Bare, w.number, troubles); err != nil {
		w.launch.log.Warn().Err(err).Msg("the backpressure cannot be recorded")
	}
	for name, t := range troubles {
		w.launch.tellLive(live.Event{Unit: name, Kind: live.Gateway, Text: t.Text(name)})
	}
}
