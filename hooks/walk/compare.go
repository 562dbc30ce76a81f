package walk

import (
	"context"
	"fmt"

	"git-ward/internal/git"
)

// Brought has the callbacks for what a commit brings that none of its parents has.
type Brought struct {
	// Met is called for every new object, at a path ("dir/" for a tree) and, for an unusual
	// but unambiguous tree, with how it differs from git's form.
	Met func(path, id string, form *git.FormError)
	// Names is called for a directory whose names no single parent has; bit i of in[j] is set
	// if parent i has the name of entries[j].
	Names func(dir string, entries []git.Entry, in []uint16)
	// Path is called for every path whose entry no parent has; its error ends the walk.
	Path func(Change) error
}

// Brought visits what a commit brings that no parent has. Subtrees that some parent
// has too are not read at all.
func (w *Walker) Brought(c *Commit, parents []string, b Brought) error {
	met := b.Met
	b.Met = func(path, id string, form *git.FormError) {
		w.met[id] = true
		met(path, id, form)
	}
	w.met[c.ID] = true
	walk := comparison{walker: w, hear: b, count: w.count}
	return walk.level("", parents, c.Tree, 1)
}

// Compare visits every path of a tree whose entry no parent has, and every path of the
// first parent that the tree has not.
func (w *Walker) Compare(parents []string, tree string, visit func(Change) error) error {
	walk := comparison{walker: w, hear: Brought{Path: visit}, count: w.count, deletions: true}
	return walk.level("", parents, tree, 1)
}

// Paths visits every path of a tree, and is an *Exceeded when its trees have more
// than budget bytes together, which do not count against the push's limit.
func (w *Walker) Paths(tree string, budget int64, visit func(Change) error) error {
	count := func(n int64) error {
		if budget -= n; budget < 0 {
			return &Exceeded{"", "the tree is too large to be read"}
		}
		return nil
	}
	walk := comparison{walker: w, hear: Brought{Path: visit}, count: count}
	return walk.level("", nil, tree, 1)
}

// comparison is one walk over a tree and the trees that it is compared with.
type comparison struct {
	walker    *Walker
	hear      Brought
	count     func(int64) error // counts the bytes of trees
	deletions bool              // visit what the first parent has and the tree has not
	visited   int
}

// side is one parent's directory, read in parallel with the new one.
type side struct {
	entries []git.Entry
	next    int
}

// seek returns the parent's entry of the same name and sort, skipping (and handing to gone)
// the smaller ones.
func (s *side) seek(of git.Entry, gone func(git.Entry) error) (e git.Entry, err error) {
	for ; s.next < len(s.entries); s.next++ {
		e := s.entries[s.next]
		switch order := e.Compare(of); {
		case order > 0:
			return git.Entry{}, nil
		case order == 0:
			s.next++
			return e, nil
		}
		if err := gone(e); err != nil {
			return git.Entry{}, err
		}
	}
	return git.Entry{}, nil
}

func ignore(git.Entry) error { return nil }

func (c *comparison) level(dir string, parents []string, id string, depth int) error {
	if depth > c.walker.limits.Depth {
		return &Exceeded{dir, fmt.Sprintf("more than %d directories deep", c.walker.limits.Depth)}
	}
	if err := c.visiting(); err != nil {
		return err
	}
	read, err := c.walker.tree(id, c.count)
	if err != nil {
		return At(err, dir)
	}
	if c.hear.Met != nil && id != "" {
		c.hear.Met(dir, id, read.form)
	}
	sides := make([]side, len(parents))
	for i, p := range parents {
		old, err := c.walker.tree(p, c.count)
		if err != nil {
			return At(err, dir)
		}
		sides[i].entries = old.entries
	}
	return c.entries(dir, read.entries, sides, depth)
}

// entries compares a directory's entries with the parents'.
func (c *comparison) entries(dir string, entries []git.Entry, sides []side, depth int) (err error) {
	gone := ignore
	if c.deletions {
		gone = func(e git.Entry) error { return c.deleted(dir, e, depth) }
	}
	in, together := make([]uint16, len(entries)), uint16(1<<len(sides)-1)
	for i, e := range entries {
		if in[i], err = c.entry(dir, e, sides, gone, depth); err != nil {
			return err
		}
		together &= in[i]
	}
	if len(entries) > 0 && together == 0 && c.hear.Names != nil {
		c.hear.Names(dir, entries, in)
	}
	if c.deletions && len(sides) > 0 {
		for _, e := range sides[0].entries[sides[0].next:] {
			if err := gone(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// entry compares one entry with the parents' and reports which of them have its
// name, a bit for each.
func (c *comparison) entry(dir string, e git.Entry, sides []side, gone func(git.Entry) error, depth int) (in uint16, err error) {
	same := false
	var old git.Entry
	var subtrees []string // in the parents' order, as the bits are
	if e.IsDir() {
		subtrees = make([]string, len(sides))
	}
	for i := range sides {
		g := ignore
		if i == 0 {
			g = gone
		}
		p, err := sides[i].seek(e, g)
		if err != nil {
			return 0, err
		}
		if p.ID == "" {
			continue
		}
		in |= 1 << i
		same = same || (p.ID == e.ID && p.Mode == e.Mode)
		if old.ID == "" {
			old = p
		}
		if e.IsDir() {
			subtrees[i] = p.ID
		}
	}
	if same {
		return in, nil
	}
	path := dir + e.Name
	if len(path) > c.walker.limits.PathLength {
		return 0, &Exceeded{path[:min(len(path), 64)] + "...", fmt.Sprintf("the path has %d bytes, more than %d", len(path), c.walker.limits.PathLength)}
	}
	if e.IsDir() {
		return in, c.level(path+"/", subtrees, e.ID, depth+1)
	}
	if err := c.visiting(); err != nil {
		return 0, err
	}
	if c.hear.Met != nil && e.Mode != git.ModeGitlink {
		c.hear.Met(path, e.ID, nil)
	}
	return in, c.hear.Path(Change{Path: path, Old: old, New: e})
}

func (c *comparison) deleted(dir string, e git.Entry, depth int) error {
	if e.IsDir() {
		return c.level(dir+e.Name+"/", []string{e.ID}, "", depth+1)
	}
	if err := c.visiting(); err != nil {
		return err
	}
	return c.hear.Path(Change{Path: dir + e.Name, Old: e})
}

// visiting bounds the walk. Directories count, too, because a tree of empty trees has no path
// but could be endless.
func (c *comparison) visiting() error {
	if c.visited++; c.visited > c.walker.limits.ChangedPaths {
		return &Exceeded{"", fmt.Sprintf("more than %d changed paths in one step", c.walker.limits.ChangedPaths)}
	}
	const often = 256
	if c.visited%often == 0 {
		return context.Cause(c.walker.ctx)
	}
	return nil
}
