package store

import (
	"context"

	"git-ward/internal/git"
	"git-ward/internal/scratch"
)

// maxStat is how many paths a comparison lists for a report.
const maxStat = 20_000

// Stat lists the paths in which a commit of the work differs from a base, "" for where
// the branch left the project: as git alone compares them, whatever the work's own
// attributes and settings say (REC-3).
func (w *Work) Stat(ctx context.Context, base, commit string) (list []git.Difference, err error) {
	if base == "" {
		if base, err = w.forked(ctx); err != nil {
			return nil, err
		}
	}
	dir, err := scratch.Make("", "differences-")
	if err != nil {
		return nil, err
	}
	defer dir.Remove()
	apart, err := w.clone.repo().Apart(dir.Path)
	if err != nil {
		return nil, err
	}
	return apart.Compare(ctx, base, commit, maxStat)
}
