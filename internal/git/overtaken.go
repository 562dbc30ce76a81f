package git

import (
	"context"
	"slices"
)

// maxOvertaken bounds the fetches that others have overtaken.
const maxOvertaken = 5

// Overtaken fetches in a clone in which others fetch, too, such as git ward watch. A fetch
// that loses the race for a ref fails although the ref is up to date, so it is repeated as
// long as refs move meanwhile.
func (r *Repo) Overtaken(ctx context.Context, fetch func() error) error {
	before, _ := r.Refs(ctx, "refs/")
	for n := 1; ; n++ {
		err := fetch()
		if err == nil || ctx.Err() != nil || n == maxOvertaken {
			return err
		}
		now, _ := r.Refs(ctx, "refs/")
		if slices.Equal(now, before) {
			return err
		}
		before = now
	}
}
