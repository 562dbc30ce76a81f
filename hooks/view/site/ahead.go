package site

import (
	"context"
	"iter"
)

// ahead computes values while pages are written, in parallel lanes. Each lane blocks until its value
// is taken, so that few values are in memory at a time.
type ahead[T any] struct {
	all  func(context.Context, []string) iter.Seq2[T, error]
	made map[string]chan made[T] // by directive
}

type made[T any] struct {
	it  T
	err error
}

// makeAhead starts the lanes. They compute all's value for each of names, in this order.
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

// pass discards a value that is no longer needed, because its lane blocks until it is taken.
func (a *ahead[T]) pass(ctx context.Context, name string) {
	if a.made[name] != nil {
		a.get(ctx, name)
	}
}

// get returns the value for a directive. It computes the value now if the name was not among names.
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
