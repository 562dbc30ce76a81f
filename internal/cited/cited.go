// Package cited finds out whether the commits and lessons that a plan cites as its evidence
// are in a repository (PLAN-9).
package cited

import (
	"context"
	"errors"
	"strings"

	"git-ward/internal/branches"
	"git-ward/internal/git"
)

// In returns a lookup for a repository: an id "L-..." must name a lesson, of a branch's file or of the
// memory, the ref with those of all directives, and any other id must be a commit's or an abbreviation
// of one.
func In(ctx context.Context, repo *git.Repo, file, memory string) func(id string) (bool, error) {
	return func(id string) (bool, error) {
		batch := repo.Batch(ctx)
		defer batch.Close()
		if !strings.HasPrefix(id, "L-") {
			if _, err := batch.Info(id + "^{commit}"); errors.Is(err, git.ErrMissing) {
				return false, nil
			}
			return true, ctx.Err() // two of them begin so, or it cannot be told
		}
		names, err := branches.Of(ctx, repo)
		if err != nil {
			return false, err
		}
		for _, ref := range []string{"HEAD", names.ControlRef(), names.Control.Ref(), memory} {
			if _, err := batch.Info(ref); errors.Is(err, git.ErrMissing) {
				continue
			} else if err != nil {
				return false, err
			}
			args := []string{"grep", "-q", "--fixed-strings", "-e", `"lesson_id":"` + id + `"`, ref, "--"}
			if ref != memory {
				args = append(args, file)
			}
			if found, err := repo.Exits(ctx, args...); found || err != nil {
				return found, err
			}
		}
		return false, nil
	}
}
