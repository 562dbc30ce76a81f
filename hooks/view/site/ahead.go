package site

import (
	"context"
	"iter"
	"runtime"

	"git-ward/protocols/review"
)

// ahead are reviews that are made while pages are written: as many at once as there are
// processors, and each waits until it is taken, so that few are held.
type ahead struct {
	source Source
	made   map[string]chan made // by directive
}

type made struct {
	*review.Review
	err error
}

func reviewsAhead(ctx context.Context, source Source, names []string) *ahead {
	a := &ahead{source, map[string]chan made{}}
	lanes := make([][]string, runtime.GOMAXPROCS(0))
	for i, name := range names {
		a.made[name] = make(chan made)
		lanes[i%len(lanes)] = append(lanes[i%len(lanes)], name)
	}
	for _, lane := range lanes {
		go a.make(ctx, lane)
	}
	return a
}

func (a *ahead) make(ctx context.Context, names []string) {
	next, stop := iter.Pull2(a.source.Reviews(ctx, names))
	defer stop()
	for _, name := range names {
		r, err, _ := next()
		select {
		case a.made[name] <- made{r, err}:
		case <-ctx.Done():
			return
		}
	}
}

// pass lets go of a review that is not wanted any more: those behind it wait for that.
func (a *ahead) pass(ctx context.Context, name string) {
	if a.made[name] != nil {
		a.get(ctx, name)
	}
}

// get is the review of a directive, made now where nobody knew that it would be wanted.
func (a *ahead) get(ctx context.Context, name string) (r *review.Review, err error) {
	if c, ok := a.made[name]; ok {
		select {
		case m := <-c:
			return m.Review, m.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	for r, err = range a.source.Reviews(ctx, []string{name}) {
	}
	return r, err
}
