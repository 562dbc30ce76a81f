package walk

import (
	"maps"
	"slices"

	"git-ward/internal/git"
)

// Size sums the inflated bytes of the blobs of a tree, one at two paths twice, without
// reading them. Its trees may have most bytes together.
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
	return w.sum(count)
}

// Grown is by how many bytes more, or fewer, a tree's blobs are for its changes.
func (w *Walker) Grown(changes []Change) (int64, error) {
	count := map[string]int64{}
	for _, c := range changes {
		if c.New.ID != "" && c.New.Mode != git.ModeGitlink {
			count[c.New.ID]++
		}
		if c.Old.ID != "" && c.Old.Mode != git.ModeGitlink {
			count[c.Old.ID]--
		}
	}
	return w.sum(count)
}

// sum is the bytes of blobs, each so many times.
func (w *Walker) sum(count map[string]int64) (size int64, err error) {
	err = w.batch.Sizes(slices.Sorted(maps.Keys(count)), func(o git.Object) { size += o.Size * count[o.ID] })
	return size, err
}
