package fold

import (
	"context"
	"time"

	"git-ward/internal/git"
	"git-ward/protocols/record"
)

const (
	// lookInterval is the time between two looks at the refs.
	lookInterval = 250 * time.Millisecond
	// A fold that meets trouble is tried again after firstWait, and then later and later.
	firstWait, lastWait = time.Second, time.Minute
)

// Serve folds whatever comes, until ctx ends. Trouble is told to trouble, nil where there is
// none any more, and ends nothing: what is pending lies on the records.
func (f *Fold) Serve(ctx context.Context, trouble func(error)) error {
	seen, wait, told := [2]git.Mark{}, time.Duration(0), ""
	again := time.Time{}
	for first := true; ; first = false {
		marks := [2]git.Mark{f.Repo.Mark(record.Prefix), f.Repo.Mark(f.Settings.Control.Ref())}
		if first || marks != seen || wait > 0 && !time.Now().Before(again) {
			seen = marks
			_, err := f.Once(ctx)
			if ctx.Err() != nil {
				return nil
			}
			words := ""
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
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookInterval): // a ref tells nobody that it moves
		}
	}
}
