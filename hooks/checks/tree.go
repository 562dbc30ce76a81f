package checks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/config"
	"git-ward/internal/git"
)

// errLimit says that a tree is too much to judge; the finding says which limit.
var errLimit = errors.New("limit")

// objectError is an object that readers may read otherwise, or that is not of the
// kind that its place says (GATE-1).
type objectError struct {
	id, path string
	err      error
}

func (e *objectError) Error() string { return fmt.Sprintf("object %s: %v", e.id, e.err) }
func (e *objectError) Unwrap() error { return e.err }

func wrongKind(id, is, want string) error {
	return &objectError{id: id, err: fmt.Errorf("it is a %s where a %s belongs", is, want)}
}

// limitError is a refused shape: too many paths, too deep, a path too long.
type limitError struct{ path, message string }

func (e *limitError) Error() string { return e.message }
func (e *limitError) Unwrap() error { return errLimit }

// trees reads tree objects and compares them.
type trees struct {
	ctx    context.Context
	batch  *git.Batch
	config *config.Config
	spend  func(int64) error // counts inflated bytes against the push's limit
	cache  map[string]readTree
	cached int
}

// readTree is a tree and, where it is not what git writes but has one meaning, in
// what it departs.
type readTree struct {
	entries []git.Entry
	form    *git.FormError
}

// maxTreeSize bounds one tree object: a directory of some 200,000 names. maxCached
// bounds the entries that are kept, about 30 MiB of them.
const (
	maxTreeSize = 8 << 20
	maxCached   = 250_000
)

// load returns a tree's entries; "" is the empty tree. It asks no more of their
// form than one meaning: what is stored already may be older than git's rules.
func (t *trees) load(id string) ([]git.Entry, error) {
	tree, err := t.read(id)
	return tree.entries, err
}

// read reads a tree. Parents' trees come again as the next commit's base, so recent
// ones are kept.
func (t *trees) read(id string) (tree readTree, err error) {
	if id == "" {
		return tree, nil
	}
	if tree, ok := t.cache[id]; ok {
		return tree, nil
	}
	object, data, err := t.batch.ReadNow(id, maxTreeSize)
	var large *git.TooLarge
	if errors.As(err, &large) {
		return tree, &limitError{"", large.Error()}
	}
	if err != nil {
		return tree, err
	}
	if object.Kind != "tree" {
		return tree, wrongKind(id, object.Kind, "tree")
	}
	if err := t.spend(object.Size); err != nil {
		return tree, err
	}
	tree.entries, err = git.ParseTree(data)
	if err != nil && (!errors.As(err, &tree.form) || !tree.form.OneMeaning) {
		return tree, &objectError{id: id, err: err}
	}
	if t.cached += len(tree.entries); t.cached > maxCached || t.cache == nil {
		t.cache, t.cached = map[string]readTree{}, len(tree.entries)
	}
	t.cache[id] = tree
	return tree, nil
}

// pair is a tree and one that it will be compared with.
type pair struct{ old, new string }

// warm reads ahead what comparing the pairs will read: trees level by level, then
// blobs. It only saves exchanges with the child: what it does not fetch, or
// cannot, the comparison reads itself and reports.
func (t *trees) warm(pairs []pair) error {
	const most = 4096 // a bomb is not worth reading ahead
	var blobs []string
	for len(pairs) > 0 && len(pairs) <= most {
		var missing []string
		for _, p := range pairs {
			for _, id := range []string{p.old, p.new} {
				if _, ok := t.cache[id]; !ok && id != "" {
					missing = append(missing, id)
				}
			}
		}
		slices.Sort(missing)
		if err := t.batch.Prefetch(slices.Compact(missing), maxTreeSize); err != nil {
			return err
		}
		var next []pair
		for _, p := range pairs {
			old, err := t.load(p.old)
			if err != nil {
				return err
			}
			entries, err := t.load(p.new)
			if err != nil {
				return err
			}
			s := side{entries: old}
			for _, e := range entries {
				before, _ := s.seek(e.SortKey(), func(git.Entry) error { return nil })
				switch {
				case before.ID == e.ID:
				case e.IsDir():
					next = append(next, pair{before.ID, e.ID})
				case e.Mode != git.ModeGitlink && len(blobs) < most:
					blobs = append(blobs, e.ID)
				}
			}
		}
		pairs = next
	}
	slices.Sort(blobs)
	return t.batch.Prefetch(slices.Compact(blobs), t.config.Limits.BlobSize)
}

// lookup finds the entry at a slash-separated path; ok is false when there is
// none. A trailing slash asks for a directory.
func (t *trees) lookup(tree, path string) (e git.Entry, ok bool, err error) {
	wantDir := strings.HasSuffix(path, "/")
	e = git.Entry{Mode: git.ModeDir, ID: tree}
	for name := range strings.SplitSeq(strings.TrimSuffix(path, "/"), "/") {
		if !e.IsDir() {
			return git.Entry{}, false, nil
		}
		entries, err := t.load(e.ID)
		if err != nil {
			return git.Entry{}, false, err
		}
		found := false
		for _, entry := range entries {
			if entry.Name == name {
				e, found = entry, true
				break
			}
		}
		if !found {
			return git.Entry{}, false, nil
		}
	}
	return e, !wantDir || e.IsDir(), nil
}

// comparison is one walk over a tree and the trees that it is compared with.
type comparison struct {
	*trees
	deletions bool // visit what the first parent has and the tree has not
	visit     func(Change) error
	// names hears of a directory whose names no parent has together; bit i of in[j]
	// is set where parent i has the name of entries[j]. May be nil.
	names func(dir string, entries []git.Entry, in []uint16)
	// met hears of every new object, and of a new tree that departs from git's form
	// with one meaning; may be nil.
	met     func(dir, id string, form *git.FormError)
	visited int
}

// compare visits every path of tree whose entry no parent has and, if asked to,
// every path of the first parent that tree has not. Subtrees that some parent
// has too are not read at all.
func (c *comparison) compare(parents []string, tree string) error {
	return c.level("", parents, tree, 1)
}

// side is one parent's directory, read in step with the new one.
type side struct {
	entries []git.Entry
	next    int
}

// seek returns the parent's entry with the key, skipping (and handing to gone)
// the smaller ones.
func (s *side) seek(k string, gone func(git.Entry) error) (e git.Entry, err error) {
	for ; s.next < len(s.entries); s.next++ {
		e := s.entries[s.next]
		switch ek := e.SortKey(); {
		case ek > k:
			return git.Entry{}, nil
		case ek == k:
			s.next++
			return e, nil
		}
		if err := gone(e); err != nil {
			return git.Entry{}, err
		}
	}
	return git.Entry{}, nil
}

func (c *comparison) level(dir string, parents []string, tree string, depth int) error {
	if depth > c.config.Limits.Depth {
		return &limitError{dir, fmt.Sprintf("more than %d directories deep", c.config.Limits.Depth)}
	}
	if err := c.count(dir); err != nil {
		return err
	}
	read, err := c.read(tree)
	if err != nil {
		return inDir(err, dir)
	}
	entries := read.entries
	if c.met != nil && tree != "" {
		c.met(dir, tree, read.form)
	}
	sides := make([]side, len(parents))
	for i, p := range parents {
		if sides[i].entries, err = c.load(p); err != nil {
			return inDir(err, dir)
		}
	}
	gone := func(git.Entry) error { return nil }
	if c.deletions {
		gone = func(e git.Entry) error { return c.deleted(dir, e, depth) }
	}
	in, together := make([]uint16, len(entries)), uint16(1<<len(parents)-1)
	for i, e := range entries {
		if in[i], err = c.entry(dir, e, sides, gone, depth); err != nil {
			return err
		}
		together &= in[i]
	}
	if len(entries) > 0 && together == 0 && c.names != nil {
		c.names(dir, entries, in)
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
	ignore := func(git.Entry) error { return nil }
	for i := range sides {
		g := ignore
		if i == 0 {
			g = gone
		}
		p, err := sides[i].seek(e.SortKey(), g)
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
	if len(path) > c.config.Limits.PathLength {
		return 0, &limitError{path[:64] + "...", fmt.Sprintf("the path has %d bytes, more than %d", len(path), c.config.Limits.PathLength)}
	}
	if e.IsDir() {
		return in, c.level(path+"/", subtrees, e.ID, depth+1)
	}
	if err := c.count(path); err != nil {
		return 0, err
	}
	if c.met != nil && e.Mode != git.ModeGitlink {
		c.met(path, e.ID, nil)
	}
	return in, c.visit(Change{Path: path, Old: old, New: e})
}

func (c *comparison) deleted(dir string, e git.Entry, depth int) error {
	if e.IsDir() {
		return c.level(dir+e.Name+"/", []string{e.ID}, "", depth+1)
	}
	if err := c.count(dir + e.Name); err != nil {
		return err
	}
	return c.visit(Change{Path: dir + e.Name, Old: e})
}

// count bounds the walk. Directories count too: a tree of empty trees has no
// path at all and no end.
func (c *comparison) count(path string) error {
	if c.visited++; c.visited > c.config.Limits.ChangedPaths {
		return &limitError{"", fmt.Sprintf("more than %d changed paths in one step", c.config.Limits.ChangedPaths)}
	}
	const often = 256
	if c.visited%often == 0 {
		return context.Cause(c.ctx)
	}
	return nil
}

// inDir gives what was met while reading a directory its place.
func inDir(err error, dir string) error {
	var limit *limitError
	if errors.As(err, &limit) && limit.path == "" {
		limit.path = dir
	}
	var object *objectError
	if errors.As(err, &object) && object.path == "" {
		object.path = dir
	}
	return err
}
