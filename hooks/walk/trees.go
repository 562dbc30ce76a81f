package walk

import (
	"errors"
	"strings"

	"git-ward/internal/git"
)

// maxTreeSize bounds one tree object: a directory of some 200,000 names.
const maxTreeSize = 8 << 20

// MaxEntries bounds the entries of trees that are kept in memory at once, here and by
// a check that keeps them in another form: about 30 MiB of them.
const MaxEntries = 250_000

// trees are those that were read lately.
type trees struct {
	kept    map[string]tree
	entries int
}

// tree is a tree object and, where it is not what git writes but has one meaning, in
// what it departs.
type tree struct {
	entries []git.Entry
	form    *git.FormError
}

// Tree returns a tree's entries in git's order. It asks no more of their form than
// one meaning: what is stored already may be older than git's rules.
func (w *Walker) Tree(id string) ([]git.Entry, error) {
	t, err := w.tree(id, w.count)
	return t.entries, err
}

// tree reads a tree; count is told its size. Parents' trees come again as the next
// commit's base, so recent ones are kept.
func (w *Walker) tree(id string, count func(int64) error) (t tree, err error) {
	if id == "" {
		return t, nil
	}
	if t, ok := w.trees.kept[id]; ok {
		return t, nil
	}
	object, data, err := w.batch.ReadNow(id, maxTreeSize)
	if err != nil {
		return t, tooLarge(err)
	}
	if object.Kind != "tree" {
		return t, wrongKind(id, object.Kind, "tree")
	}
	if err := count(object.Size); err != nil {
		return t, err
	}
	t.entries, err = git.ParseTree(data)
	if err != nil && (!errors.As(err, &t.form) || !t.form.OneMeaning) {
		return t, &BadObject{ID: id, Err: err}
	}
	if w.trees.entries += len(t.entries); w.trees.entries > MaxEntries || w.trees.kept == nil {
		w.trees.kept, w.trees.entries = map[string]tree{}, len(t.entries)
	}
	w.trees.kept[id] = t
	return t, nil
}

// Lookup finds the entry at a slash-separated path of a tree; ok is false when there
// is none. A trailing slash asks for a directory.
func (w *Walker) Lookup(tree, path string) (e git.Entry, ok bool, err error) {
	wantDir := strings.HasSuffix(path, "/")
	e = git.Entry{Mode: git.ModeDir, ID: tree}
	for name := range strings.SplitSeq(strings.TrimSuffix(path, "/"), "/") {
		if !e.IsDir() {
			return git.Entry{}, false, nil
		}
		entries, err := w.Tree(e.ID)
		if err != nil {
			return git.Entry{}, false, err
		}
		if e, ok = named(entries, name); !ok {
			return git.Entry{}, false, nil
		}
	}
	return e, !wantDir || e.IsDir(), nil
}

func named(entries []git.Entry, name string) (git.Entry, bool) {
	for _, e := range entries {
		if e.Name == name {
			return e, true
		}
	}
	return git.Entry{}, false
}
