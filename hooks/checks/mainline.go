package checks

import (
	"errors"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/filename"
)

// maxMain bounds the commits of main that one commit is compared with.
const maxMain = "--max-count=1000"

// likeMain reports whether same holds for the tree of some commit of a history's main that is
// not older than its merge base with commit. It tries main's tip first, then the merge base,
// then those in between.
func likeMain(pass *Pass, h push.History, commit string, same func(tree string) (bool, error)) (bool, error) {
	matches := func(commit string) (bool, error) {
		c, err := pass.Repo.Commit(commit)
		if err != nil {
			return false, err
		}
		return same(c.Tree)
	}
	main := pass.Repo.Main(h)
	if main == "" {
		return false, nil
	}
	if ok, err := matches(main); ok || err != nil {
		return ok, err
	}
	base, err := pass.Repo.MergeBase(commit, main)
	if err != nil || base == "" {
		return false, err
	}
	if base == main {
		return false, nil
	}
	if ok, err := matches(base); ok || err != nil {
		return ok, err
	}
	between, err := pass.Repo.RevList("--ancestry-path", maxMain, base+".."+main)
	if err != nil {
		return false, err
	}
	for _, id := range between {
		if ok, err := matches(id); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// errFound ends a comparison that has its answer.
var errFound = errors.New("found")

// firstChange is the first changed path between two trees that matches, "" for none. Its cost
// depends on the difference.
func firstChange(pass *Pass, from, to string, match func(walk.Change) bool) (path string, err error) {
	err = pass.Repo.Compare([]string{from}, to, func(c walk.Change) error {
		if match(c) {
			path = c.Path
			return errFound
		}
		return nil
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return path, err
}

// covered matches changes of paths on a list.
func covered(list *filename.List) func(walk.Change) bool {
	return func(c walk.Change) bool { return list.Covers(c.Path) }
}
