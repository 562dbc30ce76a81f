package site

import (
	"context"
	"iter"
)

// ahead is what is made while pages are written: in lanes, and each thing waits until it is
// taken, so that few are held.
type ahead[T any] struct {
	all  func(context.Context, []string) iter.Seq2[T, error]
	made map[string]chan made[T] // by directive
}

type made[T any] struct {
	it  T
	err error
}

// makeAhead begins to make what all gives for each of some directives, in their order.
func makeAhead[T any](ctx context.Context, lanes int, names []string, all func(context.Context, []string) iter.Seq2[T, error]) *ahead[T] {
	a := &ahead[T]{all, map[string]chan made[T]{}}
	of := make([][]string, lanes)
	for i, name := range names {
		a.made[name] = make(chan made[T])
		of[i%lanes] = append(of[i%lanes], name)
	}
	for _, lane := range of {
		go a.make(ctx, lane)
	}
	return a
}

func (a *ahead[T]) make(ctx context.Context, names []string) {
	next, stop := iter.Pull2(a.all(ctx, names))
	defer stop()
	for _, name := range names {
		it, err, _ := next()
		select {
		case a.made[name] <- made[T]{it, err}:
		case <-ctx.Done():
			return
		}
	}
}

// pass lets go of what is not wanted any more: what is behind it waits for that.
func (a *ahead[T]) pass(ctx context.Context, name string) {
	if a.made[name] != nil {
		a.get(ctx, name)
	}
}

// get is what is made for a directive, now where nobody knew that it would be wanted.
func (a *ahead[T]) get(ctx context.Context, name string) (it T, err error) {
	if c, ok := a.made[name]; ok {
		select {
		case m := <-c:
			return m.it, m.err
		case <-ctx.Done():
			return it, ctx.Err()
		}
	}
	for it, err = range a.all(ctx, []string{name}) {
	}
	return it, err
}
