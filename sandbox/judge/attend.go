package judge

import (
	"context"
	"errors"
	"time"

	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// errWithdrawn ends the verdict on a claim that is no longer its unit's state: the PM has paused
// or cancelled the unit, or it went on. A resumed unit is judged again.
var errWithdrawn = errors.New("the unit does not wait for a verdict now")

// attend returns a context that ends when a unit leaves a claim, and with it what runs for the verdict
// (WORK-3). done ends the watch.
func (j *Judge) attend(ctx context.Context, claim request) (attended context.Context, done func()) {
	attended, cancel := context.WithCancelCause(ctx)
	over := make(chan struct{})
	watch := j.Repo.Watch(uow.RefPrefix+claim.ID, uow.TakePrefix+claim.ID)
	if !j.standsAt(ctx, claim) { // the list of claims may be as old as the previous verdicts took
		cancel(errWithdrawn)
	}
	go func() {
		defer close(over)
		for {
			if _, err := watch.Wait(attended, j.every(), time.Time{}, nil); err != nil {
				return
			}
			if !j.standsAt(attended, claim) {
				cancel(errWithdrawn)
			}
		}
	}()
	return attended, func() {
		cancel(nil)
		<-over
	}
}

// standsAt reports whether a unit's state is still that claim. A read error is no reason to
// end anything.
func (j *Judge) standsAt(ctx context.Context, claim request) bool {
	reader := j.Repo.Reader(ctx)
	defer reader.Close()
	if claim.merge != "" {
		tip, err := reader.Tip(uow.TakePrefix + claim.ID)
		return err != nil || tip == claim.merge
	}
	units, _, err := state.Units(reader)
	if err != nil {
		return true
	}
	for _, u := range units {
		if u.ID.String() != claim.ID {
			continue
		}
		open, _, err := openClaim(reader, u)
		return err != nil && !errors.Is(err, errNoClaim) || open != nil && open.Hash == claim.Hash
	}
	return false
}
