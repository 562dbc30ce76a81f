package probe

import (
	"context"
	"fmt"
	"time"
)

// Patience limits the checks before a start. A fence that refuses does so at once, and the
// first failure ends the checks.
const Patience = 20 * time.Second

// Report is what a container's first process says of the fence around it, before anything
// else runs there.
type Report struct {
	Tried  int     `json:"tried"`
	Broken *Result `json:"broken,omitzero"` // the first failure; no more was tried after it
}

// Before checks what must hold before anything else runs in a container.
func Before(ctx context.Context, p *Surroundings) (r Report) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	for _, g := range groups {
		if !g.before {
			continue
		}
		for _, a := range g.attempts(p) {
			result := a.result(ctx, p)
			r.Tried++
			if result.Held && ctx.Err() != nil {
				result.Held, result.Detail = false, fmt.Sprintf("not all was tried within %v", Patience)
			}
			if !result.Held {
				r.Broken = &result
				return r
			}
		}
	}
	return r
}

// Err says why nothing may start, or is nil.
func (r *Report) Err() error {
	switch {
	case r.Broken != nil:
		return fmt.Errorf("the fence does not hold: %s (%s): %s", r.Broken.Promise, r.Broken.ID, r.Broken.Detail)
	case r.Tried == 0:
		return fmt.Errorf("the fence was not tried")
	}
	return nil
}
