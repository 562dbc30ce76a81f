package terminal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"git-ward/internal/diag"
)

// fetching runs fetches in the background, so that a hanging network does not block the view.
type fetching struct {
	began time.Time
	ended chan error // nil while none runs
	err   error      // of the last one
	good  time.Time  // when the last one that succeeded ended
}

// maxFetch is the timeout of a fetch; after slowFetch a message says that it is slow.
const (
	maxFetch  = time.Minute
	slowFetch = 2 * time.Second
)

// begin starts a fetch if none runs and the last one began at least interval ago.
func (f *fetching) begin(ctx context.Context, interval time.Duration, fetch func(context.Context) error) {
	if f.ended != nil || time.Since(f.began) < interval {
		return
	}
	ended := make(chan error, 1)
	f.began, f.ended = time.Now(), ended
	go func() {
		ctx, cancel := context.WithTimeout(ctx, maxFetch)
		defer cancel()
		ended <- fetch(ctx)
	}()
}

func (f *fetching) end(err error) {
	if f.ended, f.err = nil, err; err == nil {
		f.good = time.Now()
	}
}

// trouble says why what a clone shows may be old; "" for nothing.
func (f *fetching) trouble() string {
	old := "what is shown is what was there before"
	if !f.good.IsZero() {
		old = "what is shown was fetched at " + clock(f.good)
	}
	switch {
	case f.ended != nil && time.Since(f.began) >= slowFetch:
		return fmt.Sprintf("git fetch has not answered since %s; %s", clock(f.began), old)
	case errors.Is(f.err, context.DeadlineExceeded):
		return fmt.Sprintf("git fetch did not answer within %s; %s", maxFetch, old)
	case f.err != nil:
		return fmt.Sprintf("%s; %s", explain(f.err), old)
	}
	return ""
}

// explain is an error with its remedy, on one line.
func explain(err error) string {
	text := foreign(err.Error())
	if hinted, ok := errors.AsType[*diag.Hinted](err); ok {
		text += " (" + foreign(hinted.Hint) + ")"
	}
	return text
}

// clock formats a local time of day.
func clock(t time.Time) string { return t.Local().Format("15:04:05") }
