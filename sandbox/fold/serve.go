package fold

import (
	"cmp"
	"context"
	"time"

	"github.com/rs/zerolog"

	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

const (
	// lookInterval is the interval between readings of the refs.
	lookInterval = 250 * time.Millisecond
	// After trouble a fold is tried again after firstWait, and then after ever longer waits.
	firstWait, lastWait = time.Second, time.Minute
)

// Serve folds messages as they arrive, until ctx ends. It passes an error to trouble, and nil
// once it is over, and goes on: pending messages stay on the records.
func (f *Fold) Serve(ctx context.Context, trouble func(error)) error {
	watch := f.Repo.Watch(record.Prefix, f.Settings.Control.Ref())
	wait, told := time.Duration(0), ""
	for {
		skip := map[uow.ID]error{}
		_, err := f.once(ctx, skip)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil && f.Waits != nil {
			waits := map[string]error{}
			for unit, why := range skip {
				waits[unit.Directive] = why
			}
			f.Waits(waits)
		}
		err = cmp.Or(err, skipped(skip))
		words, again := "", time.Time{}
		if err == nil {
			wait = 0
		} else {
			wait, words = min(max(2*wait, firstWait), lastWait), err.Error()
			again = time.Now().Add(wait)
		}
		if words != told {
			told = words
			trouble(err)
		}
		if _, err := watch.Wait(ctx, lookInterval, again, nil); err != nil {
			return nil
		}
	}
}

// Pending reports whether messages wait that the next turn of Serve may fold: not where the last turn
// had to leave some, or where they cannot be read.
func (f *Fold) Pending(ctx context.Context) bool {
	if f.held.Load() {
		return false
	}
	look := Fold{Repo: f.Repo, Log: zerolog.Nop()} // its own, because Serve remembers meanwhile
	list, _, err := look.read(ctx, map[uow.ID]error{})
	return err == nil && len(list) > 0
}
