package walk

import (
	"slices"

	"git-ward/internal/git"
)

// Size sums the inflated bytes of the blobs of a tree, one at two paths twice, without
// reading them; when they are more than most, what it gives is more, too.
func (w *Walker) Size(tree string, most int64) (size int64, err error) {
	count := map[string]int64{}
	budget := max(most, maxTreeSize) // of trees, which are no blobs but cost as much
	err = w.Paths(tree, budget, func(c Change) error {
		if c.New.Mode != git.ModeGitlink {
			count[c.New.ID]++
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	ids := make([]string, 0, len(count))
	for id := range count {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	err = w.batch.Sizes(ids, func(o git.Object) { size += o.Size * count[o.ID] })
	return size, err
}
