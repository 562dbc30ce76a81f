package checks

import (
	"fmt"

	"git-ward/internal/diag"
)

// maxArrived bounds the objects of one push, and strayBatch how many that the walk
// did not meet are looked up at once.
const (
	maxArrived = 1_000_000
	strayBatch = 10_000
)

// strays refuses objects that came with the push and that nothing pushed leads
// to: they would stay in the repository unjudged, and a later push could name
// them. What the repository has already came again by accident: a client that does
// not know the newest refs sends too much.
func (r *Run) strays() error {
	if !r.Received {
		return nil
	}
	arrived, first, count := 0, "", 0
	var unmet []string
	look := func() error {
		if len(unmet) == 0 {
			return nil
		}
		stored, err := r.repo.Stored(r.ctx, unmet)
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
	err := r.repo.Quarantined(r.ctx, func(id string) error {
		if arrived++; arrived > maxArrived {
			return &limitError{"", fmt.Sprintf("more than %d objects in one push", maxArrived)}
		}
		if r.met[id] {
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
	if err == nil && count > 0 {
		r.Report(diag.Diagnostic{Rule: "object/stray",
			Message: fmt.Sprintf("%s came along that nothing pushed leads to, the first is %s", diag.Count(count, "object"), diag.Short(first)),
			Hint:    "push with plain git, which sends what the pushed refs need and no more"})
	}
	return err
}
