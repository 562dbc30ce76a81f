package git

import (
	"context"
	"slices"
)

// maxOvertaken bounds the fetches that others have overtaken.
const maxOvertaken = 5

// Overtaken fetches in a clone in which others fetch, too, such as git ward watch. Who loses the race for
// a ref fails, and the ref is where it was to be: it is done again for as long as refs move meanwhile.
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
