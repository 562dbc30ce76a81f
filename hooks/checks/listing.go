package checks

import (
	"slices"
	"strings"

	"git-ward/hooks/push"
	"git-ward/internal/filename"
	"git-ward/internal/git"
)

// listing is the repository's branches, tags and notes, read once per push.
type listing struct {
	now    []string  // existing ones, by full name
	coming []string  // about to be moved by other pushes
	after  []refName // all that will exist after these pushes, sorted
}

// refName is a full ref name, and what it is where file names fold.
type refName struct{ name, key string }

// refs lists the repository's refs.
func (p *Pass) refs() (*listing, error) {
	if p.listing != nil {
		return p.listing, nil
	}
	// Before the refs are read, so that the moves of pushes that end meanwhile are seen there.
	coming, err := p.Push.underWay()
	if err != nil {
		return nil, err
	}
	now, err := p.Repo.RefNames(p.Push.Branches, "refs/tags/", "refs/notes/")
	if err != nil {
		return nil, err
	}
	for i, name := range now {
		if branch, ok := strings.CutPrefix(name, p.Push.Branches); ok {
			now[i] = "refs/heads/" + branch
		}
	}
	p.listing = &listing{now: now, coming: coming, after: after(now, coming, p.Push.Updates)}
	return p.listing, nil
}

func after(now, coming []string, updates []push.Update) []refName {
	gone, there := map[string]bool{}, map[string]bool{}
	for _, name := range coming {
		there[name] = true
	}
	for _, u := range updates {
		gone[u.Ref], there[u.Ref] = u.New == git.Zero, u.New != git.Zero
	}
	for _, name := range now {
		there[name] = !gone[name]
	}
	refs := []refName{}
	for name, is := range there {
		if is {
			refs = append(refs, refName{name, filename.PathKey(name)})
		}
	}
	slices.SortFunc(refs, func(a, b refName) int { return strings.Compare(a.name, b.name) })
	return refs
}
