package walk

import "fmt"

// maxArrived bounds the objects of one push, and strayBatch how many that the walk
// did not meet are looked up at once.
const (
	maxArrived = 1_000_000
	strayBatch = 10_000
)

// Strays counts the objects that came with the push and that nothing pushed leads to, and
// names the first: they would stay in the repository unjudged, and a later push could name
// them. What the repository has already came again by accident: a client that does not know
// the newest refs sends too much. Call it after everything new has been visited.
func (w *Walker) Strays() (count int, first string, err error) {
	arrived := 0
	var unmet []string
	look := func() error {
		if len(unmet) == 0 {
			return nil
		}
		stored, err := w.repo.Stored(w.ctx, unmet)
		for _, id := range unmet {
			if err == nil && !stored[id] {
				if count++; first == "" || id < first {
					first = id
				}
			}
		}
		unmet = unmet[:0]
		return err
	}
	err = w.repo.Quarantined(w.ctx, func(id string) error {
		if arrived++; arrived > maxArrived {
			return &Exceeded{"", fmt.Sprintf("more than %d objects in one push", maxArrived)}
		}
		if w.met[id] {
			return nil
		}
		if unmet = append(unmet, id); len(unmet) < strayBatch {
			return nil
		}
		return look()
	})
	if err == nil {
		err = look()
	}
	return count, first, err
}
