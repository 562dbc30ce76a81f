package walk

import (
	"slices"
	"strings"

	"git-ward/internal/git"
)

// AheadOf is how many commits are read ahead at once; a small push is judged without reading
// ahead.
const AheadOf = 64

// pair is a tree and one with which it will be compared.
type pair struct{ old, new string }

// ReadAhead reads what comparing commits with their parents will need, in few
// exchanges with git. It only saves exchanges: what it does not fetch, or cannot, the
// comparison reads itself and reports.
func (w *Walker) ReadAhead(commits []*Commit) error {
	var pairs []pair
	for _, c := range commits {
		parents, err := w.ParentTrees(c)
		if err != nil {
			return err
		}
		pairs = append(pairs, pair{strings.Join(parents[:min(1, len(parents))], ""), c.Tree})
	}
	return w.ahead(pairs)
}

// maxAhead bounds the pairs and blobs of one reading ahead: a bomb is not worth it.
const maxAhead = 4096

// ahead reads trees level by level, then blobs.
func (w *Walker) ahead(pairs []pair) error {
	var blobs []string
	for len(pairs) > 0 && len(pairs) <= maxAhead {
		if err := w.prefetchTrees(pairs); err != nil {
			return err
		}
		var next []pair
		for _, p := range pairs {
			below, changed, err := w.differing(p)
			if err != nil {
				return err
			}
			next = append(next, below...)
			if len(blobs) < maxAhead {
				blobs = append(blobs, changed...)
			}
		}
		pairs = next
	}
	slices.Sort(blobs)
	return w.batch.Prefetch(slices.Compact(blobs), w.limits.BlobSize)
}

// prefetchTrees fetches the trees of pairs that are not kept.
func (w *Walker) prefetchTrees(pairs []pair) error {
	var missing []string
	for _, p := range pairs {
		for _, id := range []string{p.old, p.new} {
			if _, ok := w.trees.kept[id]; !ok && id != "" {
				missing = append(missing, id)
			}
		}
	}
	slices.Sort(missing)
	return w.batch.Prefetch(slices.Compact(missing), maxTreeSize)
}

// differing are the subtrees and blobs of a pair's new tree that differ from the old one's.
func (w *Walker) differing(p pair) (subtrees []pair, blobs []string, err error) {
	old, err := w.Tree(p.old)
	if err != nil {
		return nil, nil, err
	}
	entries, err := w.Tree(p.new)
	if err != nil {
		return nil, nil, err
	}
	s := side{entries: old}
	for _, e := range entries {
		before, _ := s.seek(e, ignore)
		switch {
		case before.ID == e.ID:
		case e.IsDir():
			subtrees = append(subtrees, pair{before.ID, e.ID})
		case e.Mode != git.ModeGitlink && len(blobs) < maxAhead:
			blobs = append(blobs, e.ID)
		}
	}
	return subtrees, blobs, nil
}
